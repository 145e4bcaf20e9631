//! What converts an object of a kind whose definition is known, without a cluster.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

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
}

impl fmt::Debug for ObjectConversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectConversion")
    }
}
