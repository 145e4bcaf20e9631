//! How one server admits objects.

use super::controller::ControllerVersion;

/// What a server does with a violation.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Enforcement {
    /// Count it where it would have been denied, tell nobody but the audit log.
    Audit,
    /// Deny.
    #[default]
    Enforce,
    /// Let it pass with a warning.
    Warn,
}

impl Enforcement {
    /// The name of the mode, as flags and metrics spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Enforce => "enforce",
            Self::Warn => "warn",
        }
    }
}

/// How one server admits objects.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The controller version whose rules this server has. Without one, every object is its own and no label counts.
    pub controller: Option<ControllerVersion>,
    /// This server also takes objects without a label, and gives new ones its own.
    pub default: bool,
    /// All controller versions that are served, if the server was told: another one in a label is worth a warning.
    pub served: Vec<ControllerVersion>,
    /// What is done with a violation.
    pub enforcement: Enforcement,
    /// Versions whose objects this server judges as well, only to count where it would have denied: a new version looks
    /// on before anything is its own. What it finds is never enforced and never told to users.
    pub shadowed: Vec<ControllerVersion>,
}
