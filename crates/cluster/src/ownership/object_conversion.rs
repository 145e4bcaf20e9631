//! What converts an object of a kind whose definition is known, without a cluster.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::annotations::KEPT;

type Convert = dyn Fn(&Value, &str) -> Option<Value> + Send + Sync;

/// Converts an object, or a part of one, to another version, as the webhook does. Nothing where it cannot.
#[derive(Clone)]
pub struct ObjectConversion(Arc<Convert>);

impl ObjectConversion {
    /// By this function of an object and a version such as `v1`.
    pub fn new(convert: impl Fn(&Value, &str) -> Option<Value> + Send + Sync + 'static) -> Self {
        Self(Arc::new(convert))
    }

    pub(crate) fn convert(&self, object: &Value, version: &str) -> Option<Value> {
        (self.0)(object, version)
    }

    /// The same of fields that a client wrote, without the rest of their object: a part gets no values that operations
    /// or the schema fill in. The result may have annotations of kept fields.
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

/// The annotation of an object that lacks required fields, as server-side apply makes one.
const SPARSE: &str = r#"{"sparse":true}"#;
