//! Other objects that contain versions of an object, as written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Other objects, each with a version and a reference to an object of the rollout.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ObservedOthers")]
pub(super) struct OthersSpec {
    /// Plural and group of these objects, such as `pods`.
    pub(super) list: String,
    /// Only objects in this namespace.
    pub(super) namespace: Option<String>,
    /// Only objects with these labels, in the syntax of `kubectl -l`.
    #[serde(rename = "where")]
    pub(super) labels: Option<String>,
    /// The field with the name of the object that runs the version, such as `spec.nodeName`.
    pub(super) by: String,
    /// The list item with the version, for versions in lists.
    pub(super) item: Option<OthersItemSpec>,
}

/// A list item, selected by its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ObservedItem")]
pub(super) struct OthersItemSpec {
    /// The list, such as `spec.containers`.
    pub(super) list: String,
    /// The value of the field `name` of the item.
    pub(super) name: String,
}
