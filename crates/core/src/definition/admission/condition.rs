//! Conditions of the status that must hold before an object changes hands, as they are written and as they are checked.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{definition::path::Path, json::Json};

/// One condition: `condition`, `generation` or `field`. Fields are named as the newest version spells them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "HandoverCondition")]
pub(super) struct ConditionSpec {
    /// A condition of the status, by its type, such as `Ready`. One that is not there does not hold.
    pub(super) condition: Option<String>,
    /// The status that the condition must have. Defaults to `True`.
    pub(super) is: Option<String>,
    /// The list of conditions. Defaults to `status.conditions`.
    pub(super) within: Option<String>,
    /// The field that says which generation the controller has seen, such as `status.observedGeneration`: it must have
    /// seen the last change. Where it says nothing, it has seen nothing.
    pub(super) generation: Option<String>,
    /// A field of which `in` or `notIn` must hold.
    pub(super) field: Option<String>,
    /// The field must have one of these values.
    #[serde(rename = "in")]
    pub(super) among: Option<Vec<Value>>,
    /// The field must have none of these values. One that is not set has none of them.
    pub(super) not_in: Option<Vec<Value>>,
}

/// A condition that is checked.
#[derive(Debug)]
pub(crate) enum Condition {
    /// A field that must have one of these values.
    Among { field: Path, values: Vec<Json<'static>> },
    /// A field that must have none of them.
    NotAmong { field: Path, values: Vec<Json<'static>> },
    /// A field that must be no less than `metadata.generation`.
    Observed { field: Path },
    /// An item of a list of conditions.
    Status { list: Path, name: String, is: String },
}
