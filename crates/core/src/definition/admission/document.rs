//! The `admission` block as it is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

/// What is checked when an object is written, besides what its schema says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Admission")]
pub(crate) struct Document {
    /// The label that says which controller version manages an object. Defaults to `<group>/controller-version`.
    pub(crate) version_label: Option<String>,
    /// The path (of `paths`) by which an object may go from one controller version to another. Without it any may follow
    /// any.
    pub(crate) version_path: Option<String>,
    /// Upgrade paths, by name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, UpgradePath>")]
    pub(crate) paths: BTreeMap<String, Spanned<UpgradePath>>,
    /// Rules of every controller version.
    #[serde(default)]
    #[schemars(with = "Vec<Rule>")]
    pub(crate) rules: Vec<Spanned<Rule>>,
    /// Rules of some controller versions.
    #[serde(default)]
    #[schemars(with = "Vec<ControllerRules>")]
    pub(crate) controllers: Vec<Spanned<ControllerRules>>,
}

/// Rules that only some controller versions have.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ControllerRules {
    /// Which: a range such as `>=2.17` or `2.16`.
    pub(crate) versions: String,
    /// The rules.
    #[schemars(with = "Vec<Rule>")]
    pub(crate) rules: Vec<Spanned<Rule>>,
}

/// Which version may follow which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UpgradePath {
    /// From a range to a range, or as far as a step goes. One that fits is enough.
    #[serde(default)]
    pub(crate) rules: Vec<Hop>,
    /// Exact versions and their neighbours.
    #[serde(default)]
    pub(crate) versions: Vec<Neighbours>,
    /// An annotation that turns the check off for an object, unless its value is `false`.
    pub(crate) opt_out: Option<String>,
    /// An annotation that allows going back, unless its value is `false`. Upgrades stay checked.
    pub(crate) downgrade_opt_out: Option<String>,
}

/// A rule of an upgrade path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Hop {
    /// Running versions: a range such as `7.17` or `>=8.18 <9`; `*` for any.
    pub(crate) from: String,
    /// Versions that may follow, as a range. Only newer ones: older ones are named under `versions`.
    pub(crate) to: Option<String>,
    /// Or how far: `patch`, `minor`, `major`.
    pub(crate) step: Option<Step>,
}

/// How far an upgrade goes at most.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Step {
    /// The next major version.
    Major,
    /// The next minor version of the same major one.
    Minor,
    /// Another patch of the same minor version.
    Patch,
}

/// A version with the ones it may come from and go back to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Neighbours {
    /// The version.
    pub(crate) version: String,
    /// The versions that may become this one.
    #[serde(default)]
    pub(crate) upgrade_from: Vec<String>,
    /// The older versions that this one may become.
    #[serde(default)]
    pub(crate) downgrade_to: Vec<String>,
}

/// One rule. Fields are named as the newest version spells them, unless `at` names another one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Rule {
    /// Warns that a field is going away.
    Deprecated(Deprecated),
    /// A string must be a duration as Go writes them: `2160h`, `1h30m`.
    Duration(Field),
    /// A value never changes once it is set.
    Immutable(Immutable),
    /// A number must be within bounds.
    Range(Bounds),
    /// A field needs others beside it, if it is set.
    Requires(Requires),
    /// A version must follow the running one.
    Upgrade(Upgrade),
    /// Warns of a value.
    Warn(Warn),
}

/// A field that is going away.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Deprecated {
    /// The field.
    pub(crate) field: String,
    /// The version that has it, if the newest has not. Only requests in that version are warned.
    pub(crate) at: Option<String>,
    /// What to use in its place.
    #[serde(rename = "use")]
    pub(crate) successor: String,
    /// Values that are no use of it, such as its default.
    #[serde(default)]
    pub(crate) unless: Vec<Value>,
}

/// A field by itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Field {
    /// The field.
    pub(crate) field: String,
}

/// A field that is set once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Immutable {
    /// The field.
    pub(crate) field: String,
    /// Values that count as not set, so that they may still change.
    #[serde(default)]
    pub(crate) unset: Vec<Value>,
}

/// Bounds of a number, both included.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Bounds {
    /// The field.
    pub(crate) field: String,
    /// The smallest value.
    pub(crate) min: Option<i64>,
    /// The largest value.
    pub(crate) max: Option<i64>,
}

/// A field that does not go alone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Requires {
    /// The field: an object.
    pub(crate) field: String,
    /// Its members that must be set.
    pub(crate) needs: Vec<String>,
}

/// A version that follows another.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Upgrade {
    /// The field that says which version is wanted.
    pub(crate) wanted: String,
    /// The field that says which version runs. Without one, what was wanted before counts.
    pub(crate) running: Option<String>,
    /// What was wanted before counts, too, while nothing is known to run.
    #[serde(default)]
    pub(crate) or_wanted: bool,
    /// How the fields are read.
    #[serde(rename = "as")]
    pub(crate) reading: Reading,
    /// The upgrade path, by its name in `paths`.
    pub(crate) path: String,
    /// Going back to less than was wanted before is checked too, even if it never ran.
    #[serde(default)]
    pub(crate) no_downgrade: bool,
}

/// How a version is read from a field.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Reading {
    /// The tag of an image reference, `…:v1.2.3`. A tag that is no version is not checked.
    ImageTag,
    /// The field is the version.
    Version,
}

/// A value that deserves a warning.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Warn {
    /// The field.
    pub(crate) field: String,
    /// The only version whose requests are warned. Without it all are, and the newest version names the fields.
    pub(crate) at: Option<String>,
    /// Warn if it has this value.
    pub(crate) is: Option<Value>,
    /// Warn if it is set and is not what this other field has, or any of these.
    #[serde(default)]
    #[schemars(with = "Names")]
    pub(crate) unlike: Names,
    /// Values that are as good as none.
    #[serde(default)]
    pub(crate) unless: Vec<Value>,
    /// What to say.
    pub(crate) message: String,
}

/// One name, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Names {
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
