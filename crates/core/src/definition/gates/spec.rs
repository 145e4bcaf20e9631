//! Gates, as written.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// One of `condition`, `generation`, `field`, `all`, `any` and `none`. Fields are those of the newest version.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Gate")]
pub struct GateSpec {
    /// A condition of the status, by its type, such as `Ready`. An absent condition does not hold.
    pub(super) condition: Option<String>,
    /// The required status of the condition: `True` (the default), `False` or `Unknown`. Or the required value of the
    /// field.
    pub(super) is: Option<Value>,
    /// The list of conditions. Defaults to `status.conditions`.
    pub(super) within: Option<String>,
    /// The field with the observed generation of the controller, such as `status.observedGeneration`. The controller
    /// must have observed the last change of the spec. If the field is absent, no change is observed.
    pub(super) generation: Option<String>,
    /// A field, with a test: `is`, `in`, `notIn`, `atLeast` or `present`.
    pub(super) field: Option<String>,
    /// The field must have one of these values.
    #[serde(rename = "in")]
    pub(super) among: Option<Vec<Value>>,
    /// The field must have none of these values. An absent field passes.
    pub(super) not_in: Option<Vec<Value>>,
    /// The field must be a number or a version that is at least this value.
    pub(super) at_least: Option<Value>,
    /// The field must be present, or absent.
    pub(super) present: Option<bool>,
    /// All of these hold.
    pub(super) all: Option<Vec<Self>>,
    /// At least one of these holds.
    pub(super) any: Option<Vec<Self>>,
    /// None of these holds.
    pub(super) none: Option<Vec<Self>>,
}

impl GateSpec {
    /// The names of the members that are set.
    pub(super) fn set_keys(&self) -> Vec<&'static str> {
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
