//! Pieces of JSON Patches (RFC 6902), and where in an object they are (RFC 6901).

use serde_json::{Value, json};

use crate::definition::Path;
use crate::json::pointer_token;

/// The write lands only where a place holds this; null where nothing is there.
pub(super) fn test(path: &str, value: Value) -> Value {
    json!({"op": "test", "path": path, "value": value})
}

/// Where a field is.
pub(super) fn field_pointer(path: &Path) -> String {
    path.names().iter().map(|name| format!("/{}", pointer_token(name))).collect()
}

/// Where a label or an annotation is.
pub(super) fn pointer(place: &str, name: &str) -> String {
    format!("/metadata/{place}/{}", pointer_token(name))
}
