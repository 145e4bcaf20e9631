//! Other objects that say versions of an object, as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Other objects, each of which says the version of the object that it names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ObservedOthers")]
pub(super) struct OthersSpec {
    /// Plural and group of these objects, such as `pods`.
    pub(super) list: String,
    /// Only those of this namespace.
    pub(super) namespace: Option<String>,
    /// Only those with such labels, as `kubectl -l` takes them.
    #[serde(rename = "where")]
    pub(super) labels: Option<String>,
    /// The field of each that holds the name of the object whose version it says, such as `spec.nodeName`.
    pub(super) by: String,
    /// The item of a list that the version is read in, where it is in one.
    pub(super) item: Option<OthersItemSpec>,
}

/// An item of a list, known by its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ObservedItem")]
pub(super) struct OthersItemSpec {
    /// The list, such as `spec.containers`.
    pub(super) list: String,
    /// What the field `name` of the item says.
    pub(super) name: String,
}
