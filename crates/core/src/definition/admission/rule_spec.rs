//! The rules of the `admission` block as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// One rule. Fields are named as the newest version spells them, unless `at` names another one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename = "Rule")]
pub(super) enum RuleSpec {
    /// Warns that a field is going away.
    Deprecated(DeprecatedSpec),
    /// A string must be a duration as Go writes them: `2160h`, `1h30m`.
    Duration(FieldSpec),
    /// A value never changes once it is set.
    Immutable(ImmutableSpec),
    /// A number must be within bounds.
    Range(RangeSpec),
    /// A field needs others beside it, if it is set.
    Requires(RequiresSpec),
    /// A version must follow the running one.
    Upgrade(UpgradeSpec),
    /// Warns of a value.
    Warn(WarnSpec),
}

/// A field that is going away.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Deprecated")]
pub(super) struct DeprecatedSpec {
    /// The field.
    pub(super) field: String,
    /// The version that has it, if the newest has not. Only requests in that version are warned.
    pub(super) at: Option<String>,
    /// What to use in its place.
    #[serde(rename = "use")]
    pub(super) successor: String,
    /// Values that are no use of it, such as its default.
    #[serde(default)]
    pub(super) unless: Vec<Value>,
}

/// A field by itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Field")]
pub(super) struct FieldSpec {
    /// The field.
    pub(super) field: String,
}

/// A field that is set once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Immutable")]
pub(super) struct ImmutableSpec {
    /// The field.
    pub(super) field: String,
    /// Values that count as not set, so that they may still change.
    #[serde(default)]
    pub(super) unset: Vec<Value>,
}

/// Bounds of a number, both included.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Bounds")]
pub(super) struct RangeSpec {
    /// The field.
    pub(super) field: String,
    /// The smallest value.
    pub(super) min: Option<i64>,
    /// The largest value.
    pub(super) max: Option<i64>,
}

/// A field that does not go alone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Requires")]
pub(super) struct RequiresSpec {
    /// The field: an object.
    pub(super) field: String,
    /// Its members that must be set.
    pub(super) needs: Vec<String>,
}

/// A version that follows another.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Upgrade")]
pub(super) struct UpgradeSpec {
    /// The field that says which version is wanted.
    pub(super) wanted: String,
    /// The field that says which version runs. Without one, what was wanted before counts.
    pub(super) running: Option<String>,
    /// What was wanted before counts, too, while nothing is known to run.
    #[serde(default)]
    pub(super) or_wanted: bool,
    /// How the fields are read. A tag that is no version is not checked.
    #[serde(rename = "as")]
    pub(super) reading: Reading,
    /// The upgrade path, by its name in `paths`.
    pub(super) path: String,
    /// Going back to less than was wanted before is checked too, even if it never ran.
    #[serde(default)]
    pub(super) no_downgrade: bool,
}

/// How a version is read from a field.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Reading {
    /// The tag of an image reference, `…:v1.2.3`.
    ImageTag,
    /// The field is the version.
    Version,
}

/// A value that deserves a warning.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Warn")]
pub(super) struct WarnSpec {
    /// The field.
    pub(super) field: String,
    /// The only version whose requests are warned. Without it all are, and the newest version names the fields.
    pub(super) at: Option<String>,
    /// Warn if it has this value.
    pub(super) is: Option<Value>,
    /// Warn if it is set and is not what this other field has, or any of these.
    #[serde(default)]
    #[schemars(with = "Names")]
    pub(super) unlike: Names,
    /// Values that are as good as none.
    #[serde(default)]
    pub(super) unless: Vec<Value>,
    /// What to say.
    pub(super) message: String,
}

/// One name, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Names {
    /// One.
    One(String),
    /// Any of them.
    Several(Vec<String>),
}

impl Default for Names {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Names {
    pub(super) fn iter(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
        .iter()
    }
}
