//! Flags by which objects are admitted, of the server and of the commands that do the same offline.

use clap::{Args, ValueEnum};
use pointsman_core::webhook::{ControllerVersion, Enforcement, Settings};

/// How objects are admitted.
#[derive(Args, Debug)]
#[command(next_help_heading = "Admission")]
pub(crate) struct AdmissionArgs {
    /// The controller version whose objects this server judges and stamps, as the version label has it, such as 2.17.0.
    /// Without it every object is its own, and no label counts.
    #[arg(long, value_name = "X.Y.Z", env = "POINTSMAN_CONTROLLER_VERSION")]
    pub(crate) controller_version: Option<ControllerVersion>,
    /// Also take objects without a version label, and give new ones this server's version. For one server at a time.
    #[arg(long, env = "POINTSMAN_DEFAULT_VERSION", requires = "controller_version")]
    pub(crate) default_version: bool,
    /// All controller versions that are served, so that a label with another one is worth a warning.
    #[arg(long, value_name = "X.Y.Z,…", value_delimiter = ',', env = "POINTSMAN_SERVED_VERSIONS")]
    pub(crate) served_versions: Vec<ControllerVersion>,
    /// Controller versions whose objects this server judges as well, only to count where it would have denied them
    /// (admission_verdicts_total) and to tell the audit log. See webhooks --shadow.
    #[arg(
        long,
        value_name = "X.Y.Z,…",
        value_delimiter = ',',
        env = "POINTSMAN_SHADOW",
        requires = "controller_version"
    )]
    pub(crate) shadow: Vec<ControllerVersion>,
    /// What to do with a violation: deny it, let it pass with a warning, or only count it and tell the audit log.
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

/// What is done with a violation of a rule.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EnforcementMode {
    /// Count it where it would have been denied, and tell the audit log.
    Audit,
    /// Deny.
    Enforce,
    /// Let it pass with a warning.
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
