//! Converts objects of a known kind without a cluster.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::annotations::KEPT;

type Convert = dyn Fn(&Value, &str) -> Option<Value> + Send + Sync;

/// Converts an object, or a part of one, to another version like the webhook. Returns `None` on failure.
#[derive(Clone)]
pub struct ObjectConversion(Arc<Convert>);

impl ObjectConversion {
    /// With this function of object and version, such as `v1`.
    pub fn new(convert: impl Fn(&Value, &str) -> Option<Value> + Send + Sync + 'static) -> Self {
        Self(Arc::new(convert))
    }

    pub(crate) fn convert(&self, object: &Value, version: &str) -> Option<Value> {
        (self.0)(object, version)
    }

    /// Converts the fields that a client wrote, without the rest of the object: a part gets no defaults from operations
    /// or the schema. The result may have kept annotations.
    pub(crate) fn convert_part(&self, part: &Value, version: &str) -> Option<Value> {
        let mut part = part.clone();
        let metadata = part.as_object_mut()?.entry("metadata").or_insert_with(|| json!({})).as_object_mut()?;
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if annotations.is_null() {
            *annotations = json!({});
        }
        annotations.as_object_mut()?.insert(format!("{KEPT}{version}"), SPARSE.into());
        self.convert(&part, version)
    }
}

impl fmt::Debug for ObjectConversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectConversion")
    }
}

/// The annotation of an object without required fields, as created by server-side apply.
const SPARSE: &str = r#"{"sparse":true}"#;
