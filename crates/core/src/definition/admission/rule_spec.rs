//! The rules of the `admission` block, as written.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A rule. Fields are those of the newest version, unless `at` selects another version.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename = "Rule")]
pub(super) enum RuleSpec {
    /// Warns that a field is deprecated.
    Deprecated(DeprecatedSpec),
    /// A string must be a Go duration: `2160h`, `1h30m`.
    Duration(FieldSpec),
    /// A value never changes once it is set.
    Immutable(ImmutableSpec),
    /// A number must be within bounds.
    Range(RangeSpec),
    /// If the field is set, some members must be set too.
    Requires(RequiresSpec),
    /// A version must be reachable from the running version.
    Upgrade(UpgradeSpec),
    /// Warns of a value.
    Warn(WarnSpec),
}

/// A deprecated field.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Deprecated")]
pub(super) struct DeprecatedSpec {
    /// The field.
    pub(super) field: String,
    /// The version with the field, if the newest version lacks the field. Only requests in this version cause the
    /// warning.
    pub(super) at: Option<String>,
    /// The replacement of the field.
    #[serde(rename = "use")]
    pub(super) successor: String,
    /// Values that count as unused, such as the default.
    #[serde(default)]
    pub(super) unless: Vec<Value>,
}

/// One field.
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
    /// Values that count as unset, so a change is allowed.
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

/// A field with required members.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Requires")]
pub(super) struct RequiresSpec {
    /// The field: an object.
    pub(super) field: String,
    /// The members that must be set.
    pub(super) needs: Vec<String>,
}

/// A version that must follow an upgrade path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Upgrade")]
pub(super) struct UpgradeSpec {
    /// The field with the desired version.
    pub(super) wanted: String,
    /// The field with the running version. Without this key, the previous desired version counts.
    pub(super) running: Option<String>,
    /// The previous desired version counts as well while the running version is unknown.
    #[serde(default)]
    pub(super) or_wanted: bool,
    /// How the versions are read. Tags without a version are not checked.
    #[serde(rename = "as")]
    pub(super) reading: Reading,
    /// The upgrade path, by its name in `paths`.
    pub(super) path: String,
    /// Also checks a downgrade from the previous desired version, even if the previous version never ran.
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
    /// The only version whose requests cause the warning. Without this key, all requests do, and fields are those of
    /// the newest version.
    pub(super) at: Option<String>,
    /// Warns if the field has this value.
    pub(super) is: Option<Value>,
    /// Warns if the field is set and differs from this other field, or from all of these fields.
    #[serde(default)]
    #[schemars(with = "Names")]
    pub(super) unlike: Names,
    /// Values that count as unset.
    #[serde(default)]
    pub(super) unless: Vec<Value>,
    /// The text of the warning.
    pub(super) message: String,
}

/// One name, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Names {
    /// One name.
    One(String),
    /// Several names.
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
