//! The admission settings of a server.

use super::controller::ControllerVersion;

/// The handling of a violation.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Enforcement {
    /// Counts it as a denial, and reports it only to the audit log.
    Audit,
    /// Denies the write.
    #[default]
    Enforce,
    /// Allows the write with a warning.
    Warn,
}

impl Enforcement {
    /// The name of the mode, as in flags and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Enforce => "enforce",
            Self::Warn => "warn",
        }
    }
}

/// The admission settings of a server.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The controller version whose rules this server applies. Without one, the server owns every object and ignores
    /// labels.
    pub controller: Option<ControllerVersion>,
    /// The server also takes objects without a label, and labels new objects with its own version.
    pub default: bool,
    /// All served controller versions, if configured. A label with another version causes a warning.
    pub served: Vec<ControllerVersion>,
    /// The handling of a violation.
    pub enforcement: Enforcement,
    /// Versions whose objects this server judges in shadow mode: a new version observes before it owns any object. Its
    /// findings are counted only, never enforced, and never shown to users.
    pub shadowed: Vec<ControllerVersion>,
}
