//! Admission flags of the server and of offline commands.

use clap::{Args, ValueEnum};
use pointsman_core::webhook::{ControllerVersion, Enforcement, Settings};

/// The admission settings.
#[derive(Args, Debug)]
#[command(next_help_heading = "Admission")]
pub(crate) struct AdmissionArgs {
    /// Controller version of this server, as in the version label, such as 2.17.0. The server validates and labels its
    /// objects. Without it, the server owns every object and ignores labels.
    #[arg(long, value_name = "X.Y.Z", env = "POINTSMAN_CONTROLLER_VERSION")]
    pub(crate) controller_version: Option<ControllerVersion>,
    /// Also take objects without a version label, and label new objects with this server's version. Use for one server
    /// only.
    #[arg(long, env = "POINTSMAN_DEFAULT_VERSION", requires = "controller_version")]
    pub(crate) default_version: bool,
    /// All served controller versions. An object with another version in its label causes a warning.
    #[arg(long, value_name = "X.Y.Z,…", value_delimiter = ',', env = "POINTSMAN_SERVED_VERSIONS")]
    pub(crate) served_versions: Vec<ControllerVersion>,
    /// Controller versions whose objects this server also judges in shadow mode: it only counts denials
    /// (admission_verdicts_total) and writes them to the audit log. See webhooks --shadow.
    #[arg(
        long,
        value_name = "X.Y.Z,…",
        value_delimiter = ',',
        env = "POINTSMAN_SHADOW",
        requires = "controller_version"
    )]
    pub(crate) shadow: Vec<ControllerVersion>,
    /// Action for a violation: deny it, allow it with a warning, or only count it and write it to the audit log.
    #[arg(long, value_enum, default_value_t = EnforcementMode::Enforce, env = "POINTSMAN_ENFORCEMENT")]
    pub(crate) enforcement: EnforcementMode,
}

impl AdmissionArgs {
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            controller: self.controller_version.clone(),
            default: self.default_version,
            served: self.served_versions.clone(),
            enforcement: self.enforcement.into(),
            shadowed: self.shadow.clone(),
        }
    }
}

/// The action for a violation of a rule.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EnforcementMode {
    /// Count it, and write it to the audit log.
    Audit,
    /// Deny it.
    Enforce,
    /// Allow it with a warning.
    Warn,
}

impl From<EnforcementMode> for Enforcement {
    fn from(mode: EnforcementMode) -> Self {
        match mode {
            EnforcementMode::Audit => Self::Audit,
            EnforcementMode::Enforce => Self::Enforce,
            EnforcementMode::Warn => Self::Warn,
        }
    }
}
