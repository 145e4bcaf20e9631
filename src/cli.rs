//! The flags. What they do is in `commands`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pointsman_core::webhook::{ControllerVersion, Enforcement, Settings};
use pointsman_server::quantity::parse_duration;

use crate::commands::{completion, convert, crd, hash, kinds, mutate, validate, webhooks};
use crate::limits::LimitArgs;

/// Keeps Kubernetes objects on the right track while their API and their controller change.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the completion script of a shell.
    #[command(after_help = completion::EXAMPLES)]
    Completion(completion::CompletionArgs),
    /// Convert objects to another version, offline, as the webhook does.
    #[command(after_help = convert::EXAMPLES)]
    Convert(convert::ConvertArgs),
    /// Print a kind's CustomResourceDefinition, with the conversion webhook in it.
    #[command(after_help = crd::EXAMPLES)]
    Crd(crd::CrdArgs),
    /// Print the rollout hash of objects, and what it is made of.
    #[command(after_help = hash::EXAMPLES)]
    Hash(hash::HashArgs),
    /// List, check and show the definitions of kinds.
    #[command(after_help = kinds::EXAMPLES)]
    Kinds(kinds::KindsCommandArgs),
    /// Print what /mutate would change in objects, offline.
    #[command(after_help = mutate::EXAMPLES)]
    Mutate(mutate::MutateArgs),
    /// Serve the webhooks: /convert, /mutate and /validate.
    #[command(after_long_help = SERVE_EXAMPLES)]
    Serve(Box<ServeArgs>),
    /// Judge objects as /validate would, offline.
    #[command(after_help = validate::EXAMPLES)]
    Validate(validate::ValidateArgs),
    /// Print the webhook configurations of a controller version, and the policy that guards the version label.
    #[command(after_help = webhooks::EXAMPLES)]
    Webhooks(Box<webhooks::WebhooksArgs>),
}

/// Logs go to stderr and never hold an object.
#[derive(Args, Debug)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LogArgs {
    /// Form of a log line.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, env = "POINTSMAN_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,
    /// How much to log: error, warn, info, debug or trace, or per module as in RUST_LOG, which counts where this is
    /// not set. [default: info]
    #[arg(long, global = true, value_name = "FILTER", env = "POINTSMAN_LOG_LEVEL")]
    pub(crate) log_level: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object per line.
    Json,
    /// For people.
    Text,
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

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Serve on the loopback address with a throw-away certificate, kept under certs/dev. For a first try and for
    /// tests, never for a cluster.
    #[arg(long, env = "POINTSMAN_DEV", conflicts_with_all = ["tls_cert_file", "tls_private_key_file"])]
    pub(crate) dev: bool,
    /// Directory of kind definitions, beside those that are built in.
    #[arg(long, value_name = "DIR", env = "POINTSMAN_KINDS")]
    pub(crate) kinds: Option<PathBuf>,

    /// Address of the webhooks (HTTPS). [::] is every address of the host. [default: [::]:8443, with --dev
    /// 127.0.0.1:8443]
    #[arg(long, value_name = "ADDR", env = "POINTSMAN_LISTEN", help_heading = "Network")]
    pub(crate) listen: Option<SocketAddr>,
    /// Address of /metrics, /livez and /readyz (plain HTTP). [default: [::]:8080, with --dev 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR", env = "POINTSMAN_ADMIN_LISTEN", help_heading = "Network")]
    pub(crate) admin_listen: Option<SocketAddr>,

    /// Certificate to serve, PEM, leaf first. Read again whenever it changes, no restart needed.
    #[arg(
        long,
        value_name = "FILE",
        env = "POINTSMAN_TLS_CERT_FILE",
        help_heading = "Certificates"
    )]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// Its private key, PEM.
    #[arg(
        long,
        value_name = "FILE",
        env = "POINTSMAN_TLS_PRIVATE_KEY_FILE",
        help_heading = "Certificates"
    )]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// Authorities of client certificates, PEM. With it, /mutate and /validate answer 401 to callers without one;
    /// /convert never asks, because API servers convert anonymously.
    #[arg(
        long,
        value_name = "FILE",
        env = "POINTSMAN_CLIENT_CA_FILE",
        help_heading = "Certificates"
    )]
    pub(crate) client_ca_file: Option<PathBuf>,
    /// Common names of client certificates that /mutate and /validate are for; without it, any that --client-ca-file
    /// vouches for.
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        env = "POINTSMAN_CLIENT_ALLOWED_NAMES",
        requires = "client_ca_file",
        help_heading = "Certificates"
    )]
    pub(crate) client_allowed_names: Vec<String>,

    /// Answer conversions with all of an object's metadata, for callers that are no API server. An API server takes only
    /// labels and annotations from the answer and restores the rest, so it is not sent.
    #[arg(long, env = "POINTSMAN_FULL_METADATA", help_heading = "Network")]
    pub(crate) full_metadata: bool,

    #[command(flatten)]
    pub(crate) admission: AdmissionArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// After a first signal: how long to serve on while /readyz says 503, so that callers are sent elsewhere first.
    /// [default: 5s, with --dev 0]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, env = "POINTSMAN_LAME_DUCK",
          help_heading = "Limits")]
    pub(crate) lame_duck: Option<Duration>,
    /// After that: how long requests under way may take. A second signal cuts them off.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "20s",
          env = "POINTSMAN_SHUTDOWN_GRACE", help_heading = "Limits")]
    pub(crate) shutdown_grace: Duration,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  Try it on this machine; prints a curl to go on with:
    pointsman serve --dev

  In a Pod, with a certificate mounted from a Secret:
    pointsman serve --tls-cert-file /tls/tls.crt --tls-private-key-file /tls/tls.key

  Your own kinds, admission for API servers with a client certificate only:
    pointsman serve --kinds /kinds --client-ca-file /client-ca/ca.crt \\
      --tls-cert-file /tls/tls.crt --tls-private-key-file /tls/tls.key

Signals:
  The first SIGTERM or SIGINT drains, the second aborts. SIGHUP is ignored.

Exit codes:
  0 after draining, 1 when serving failed or requests were cut off, 2 when the flags are wrong.";
