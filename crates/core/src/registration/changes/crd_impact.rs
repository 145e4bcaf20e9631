//! The consequence of one change of a CRD.

use serde_json::Value;

/// What a change does to objects and clients. Later is worse.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Impact {
    /// Existing objects and clients notice nothing.
    Safe,
    /// Nothing is refused or lost, but a reader sees other values, or a later step is necessary.
    Risky,
    /// Values are lost, writes are refused, or clients fail.
    Breaking,
}

impl Impact {
    /// The name in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Risky => "risky",
            Self::Breaking => "breaking",
        }
    }
}

/// A change between two revisions of a CRD or of a definition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CrdChange {
    /// The version of the CRD. Empty for the whole resource. Among several CRDs, the name of the CRD precedes it.
    pub version: String,
    /// The field, such as `spec.ports[*].name`. Empty for the whole version.
    pub path: String,
    /// The consequence.
    pub impact: Impact,
    /// The change and its consequence.
    pub what: String,
    /// What to do instead, or afterwards. Empty if nothing is necessary.
    pub advice: String,
    /// A part of an object that the change concerns: the old schema accepts its value, and the new one refuses or
    /// prunes it. Only for breaking changes of a field, if such a value can be derived from the schemas.
    pub example: Option<Value>,
}

pub(in crate::registration) fn change(
    version: &str,
    path: &str,
    impact: Impact,
    what: impl Into<String>,
    advice: &str,
) -> CrdChange {
    let [version, path, advice] = [version, path, advice].map(str::to_owned);
    CrdChange { version, path, impact, what: what.into(), advice, example: None }
}

pub(in crate::registration) const READERS: &str = "first update the controllers and clients that read the field";
pub(in crate::registration) const NEW_VERSION: &str =
    "add a version with the change, and describe the difference in a step of the definition";
