//! Documents as JSON, without enclosing lists.

use anyhow::Context;
use serde_json::Value;

use super::documents::{Document, documents};
use super::source::Source;

/// The documents of files, with lists flattened.
pub(crate) fn flat_documents(sources: &[Source]) -> anyhow::Result<Vec<Value>> {
    let mut flattened = Vec::new();
    for source in sources {
        let read = documents(source).map_err(|messages| anyhow::anyhow!(messages.join("; ")))?;
        for object in read.into_iter().flat_map(Document::into_objects) {
            flattened.extend(flat(serde_json::from_str(&object.text).context(object.label())?));
        }
    }
    Ok(flattened)
}

/// The items of a list, recursively, or the document itself.
pub(crate) fn flat(document: Value) -> Vec<Value> {
    let is_list = document.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    match document.get("items") {
        Some(Value::Array(items)) if is_list => items.iter().cloned().flat_map(flat).collect(),
        _ => vec![document],
    }
}
