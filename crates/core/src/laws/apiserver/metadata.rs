//! Validation of metadata by the API server, independent of the CRD (`apimachinery pkg/api/validation/objectmeta.go`).

use std::collections::BTreeMap;

use crate::apimachinery::{excerpt, is_dns_label, is_dns_subdomain, is_label_value, is_qualified_name};
use crate::definition::Kind;
use crate::laws::value::Value;

/// The maximum size of all keys and values of an object's annotations in bytes (`TotalAnnotationSizeLimitB`).
pub(in crate::laws) const ANNOTATIONS: usize = 256 * 1024;

/// Why the API server rejects an object for its metadata.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BadMetadata {
    /// The member: `metadata.name`.
    pub field: String,
    /// The error.
    pub message: String,
}

/// The first error in the metadata of an object of this kind: its names, its labels, and the keys and the size of its
/// annotations. Unchanged errors of an old object are rejected too.
#[must_use]
pub fn bad_metadata(kind: &Kind, object: &Value) -> Option<BadMetadata> {
    let metadata = object.get("metadata").cloned().unwrap_or(Value::Null);
    let text = |member: &str| match metadata.get(member) {
        Some(Value::Text(text)) => text.as_str(),
        _ => "",
    };
    let bad = |field: &str, message: String| Some(BadMetadata { field: format!("metadata.{field}"), message });
    let (name, prefix, namespace) = (text("name"), text("generateName"), text("namespace"));
    if name.is_empty() && prefix.is_empty() {
        return bad("name", "is missing, and so is generateName".to_owned());
    }
    if !name.is_empty() && !is_dns_subdomain(name) {
        return bad("name", no_name(name, NAME));
    }
    if !prefix.is_empty() && !is_dns_subdomain(&with_more_behind(prefix)) {
        return bad("generateName", no_name(prefix, NAME));
    }
    let is_namespaced = kind.crd().pointer("/spec/scope").and_then(|scope| scope.as_str()) != Some("Cluster");
    // The API server ignores the namespace of a cluster-scoped object.
    if is_namespaced && !namespace.is_empty() && !is_dns_label(namespace) {
        return bad("namespace", no_name(namespace, NAMESPACE));
    }
    bad_map("labels", &metadata, |key, value| match (is_qualified_name(key), is_label_value(value)) {
        (false, _) => Some(no_name(key, KEY)),
        (true, false) => Some(no_name(value, LABEL)),
        (true, true) => None,
    })
    .or_else(|| {
        bad_map("annotations", &metadata, |key, _| (!is_qualified_name(&key.to_lowercase())).then(|| no_name(key, KEY)))
    })
    .or_else(|| too_large(&metadata))
}

/// The invalid text, and the rule.
fn no_name(text: &str, right: &str) -> String {
    format!("cannot be {:?}: {right}", excerpt(text))
}

const NAME: &str = "must have lower-case letters, digits, - and ., with a letter or a digit at both ends, 253 at most";

const NAMESPACE: &str = "must have lower-case letters, digits and -, with a letter or a digit at both ends, 63 at most";

const KEY: &str = "a key must have letters, digits, -, _ and ., 63 at most, optionally after a DNS name and /";

const LABEL: &str = "must have letters, digits, -, _ and ., with a letter or a digit at both ends, 63 at most";

/// A generated name: the prefix may end with a dash.
fn with_more_behind(prefix: &str) -> String {
    format!("{prefix}{}", if prefix.ends_with('-') { "a" } else { "" })
}

/// The first invalid entry of a map of strings.
fn bad_map(member: &str, metadata: &Value, wrong: impl Fn(&str, &str) -> Option<String>) -> Option<BadMetadata> {
    let bad = |field: String, message: String| Some(BadMetadata { field, message });
    let entries: &BTreeMap<String, Value> = match metadata.get(member)? {
        Value::Object(entries) => entries,
        Value::Null => return None,
        other => return bad(format!("metadata.{member}"), format!("has a wrong type: {}", shown(other))),
    };
    entries.iter().find_map(|(key, value)| {
        let field = format!("metadata.{member}.{}", excerpt(key));
        match value {
            Value::Text(text) => bad(field, wrong(key, text)?),
            other => bad(field, format!("has a wrong type: {}: the value must be a string, in quotes", shown(other))),
        }
    })
}

fn shown(value: &Value) -> String {
    excerpt(&value.to_text())
}

fn too_large(metadata: &Value) -> Option<BadMetadata> {
    let Value::Object(annotations) = metadata.get("annotations")? else { return None };
    let bytes = |(key, value): (&String, &Value)| match value {
        Value::Text(text) => key.len() + text.len(),
        _ => key.len(),
    };
    let size: usize = annotations.iter().map(bytes).sum();
    let message = || format!("are {size} bytes together, and may be {ANNOTATIONS}");
    (size > ANNOTATIONS).then(|| BadMetadata { field: "metadata.annotations".to_owned(), message: message() })
}
