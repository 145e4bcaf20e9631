//! Gates as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// One of `condition`, `generation`, `field`, `all`, `any` and `none`. Fields are named as the newest version spells
/// them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Gate")]
pub(in crate::definition) struct GateSpec {
    /// A condition of the status, by its type, such as `Ready`. One that is not there does not hold.
    pub(super) condition: Option<String>,
    /// The status that the condition must have, `True` (if this is not set), `False` or `Unknown`; or the value of the
    /// field.
    pub(super) is: Option<Value>,
    /// The list of conditions. Defaults to `status.conditions`.
    pub(super) within: Option<String>,
    /// The field that says which generation the controller has seen, such as `status.observedGeneration`: it must have
    /// seen the last change of the spec. Where it says nothing, it has seen nothing.
    pub(super) generation: Option<String>,
    /// A field of which one of `is`, `in`, `notIn`, `atLeast` and `present` must hold.
    pub(super) field: Option<String>,
    /// The field must have one of these values.
    #[serde(rename = "in")]
    pub(super) among: Option<Vec<Value>>,
    /// The field must have none of these values. One that is not set has none of them.
    pub(super) not_in: Option<Vec<Value>>,
    /// The field must be a number that is no smaller, or a version that is no older.
    pub(super) at_least: Option<Value>,
    /// The field must be there, or must not.
    pub(super) present: Option<bool>,
    /// Every one of these holds.
    pub(super) all: Option<Vec<Self>>,
    /// At least one of these holds.
    pub(super) any: Option<Vec<Self>>,
    /// None of these holds.
    pub(super) none: Option<Vec<Self>>,
}

impl GateSpec {
    /// The names of the members that are set.
    pub(super) fn said(&self) -> Vec<&'static str> {
        let members = [
            ("condition", self.condition.is_some()),
            ("is", self.is.is_some()),
            ("within", self.within.is_some()),
            ("generation", self.generation.is_some()),
            ("field", self.field.is_some()),
            ("in", self.among.is_some()),
            ("notIn", self.not_in.is_some()),
            ("atLeast", self.at_least.is_some()),
            ("present", self.present.is_some()),
            ("all", self.all.is_some()),
            ("any", self.any.is_some()),
            ("none", self.none.is_some()),
        ];
        members.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
    }
}
