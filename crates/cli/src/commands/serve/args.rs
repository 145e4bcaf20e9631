//! The flags of `pointsman serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use pointsman_cluster::ConnectOptions;
use pointsman_core::parse_duration;
use pointsman_core::registration::Finding;
use pointsman_core::webhook::{Metadata, Webhook};

use super::definition_files::DefinitionFiles;
use super::dev_page::DevAnswers;
use super::limits::LimitArgs;
use super::trial::ServedTrial;
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::input::{Source, read};
use crate::commands::kinds::CASES;
use crate::commands::webhooks::findings;
use crate::commands::{admission::AdmissionArgs, kinds_dir::KindsArgs};

/// The options of `serve`.
#[derive(Args, Debug)]
#[allow(rustdoc::broken_intra_doc_links, reason = "[::] is an address, in help as it is printed")]
#[command(after_long_help = EXAMPLES)]
pub struct ServeArgs {
    /// Serve on the loopback address with a temporary certificate in certs/dev, and a workbench for definitions and
    /// conversions at /dev of the admin address. For first steps and tests, never for a cluster.
    #[arg(long, env = "POINTSMAN_DEV", conflicts_with_all = ["tls_cert_file", "tls_private_key_file"])]
    pub dev: bool,
    #[command(flatten)]
    pub(crate) kinds: KindsArgs,
    /// Number of objects for each law of conversion before a definition of --kinds is served, as in `pointsman kinds
    /// check`, for 20 s at most. A definition that violates a law is rejected. 0 disables the trial, for definitions
    /// that a pipeline has checked.
    #[arg(long = "try", value_name = "N", default_value_t = CASES, env = "POINTSMAN_TRY")]
    pub(crate) cases: u64,

    /// Address of the webhooks (HTTPS). [::] is every address of the host. [default: [::]:8443, with --dev
    /// 127.0.0.1:8443]
    #[arg(long, value_name = "ADDR", value_parser = address, env = "POINTSMAN_LISTEN", help_heading = "Network")]
    pub listen: Option<SocketAddr>,
    /// Address of /metrics, /errors and the probes (plain HTTP). [default: [::]:8080, with --dev 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR", value_parser = address, env = "POINTSMAN_ADMIN_LISTEN", help_heading = "Network")]
    pub admin_listen: Option<SocketAddr>,

    /// PEM file of the server certificate, leaf first. Reloaded when it changes, without a restart.
    #[arg(long, value_name = "FILE", env = "POINTSMAN_TLS_CERT_FILE", help_heading = "Certificates")]
    pub tls_cert_file: Option<PathBuf>,
    /// PEM file of the private key.
    #[arg(long, value_name = "FILE", env = "POINTSMAN_TLS_PRIVATE_KEY_FILE", help_heading = "Certificates")]
    pub tls_private_key_file: Option<PathBuf>,
    /// PEM file of the certificate authorities for client certificates. With it, /mutate and /validate respond with 401
    /// to clients without a certificate. /convert requires none, because API servers convert anonymously.
    #[arg(long, value_name = "FILE", env = "POINTSMAN_CLIENT_CA_FILE", help_heading = "Certificates")]
    pub client_ca_file: Option<PathBuf>,
    /// Common names of client certificates for /mutate and /validate. Defaults to all certificates of --client-ca-file.
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        env = "POINTSMAN_CLIENT_ALLOWED_NAMES",
        requires = "client_ca_file",
        help_heading = "Certificates"
    )]
    pub client_allowed_names: Vec<String>,

    /// Include all metadata of an object in conversion responses, for clients other than API servers. An API server
    /// reads only labels and annotations from the response and restores the rest.
    #[arg(long, env = "POINTSMAN_FULL_METADATA", help_heading = "Network")]
    pub full_metadata: bool,

    /// URL of a collector for request spans, by OTLP over plain HTTP, such as http://127.0.0.1:4318. [default: none,
    /// and there are no spans]
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", help_heading = "Traces")]
    pub otlp_endpoint: Option<String>,

    /// The admission settings.
    #[command(flatten)]
    pub(crate) admission: AdmissionArgs,
    /// Files with the registered documents of the cluster, as printed by `pointsman webhooks`. Inconsistencies with
    /// this server are reported at the start. The server starts in any case.
    #[arg(
        long,
        value_name = "FILE,…",
        value_delimiter = ',',
        env = "POINTSMAN_REGISTERED",
        help_heading = "Admission"
    )]
    pub(crate) registered: Vec<PathBuf>,

    /// The cluster with the facts of mutations. Without mutations, no connection is made.
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// Resource and time limits.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// After the first signal: time to continue serving while /readyz responds with 503, so that clients are redirected
    /// first. [default: 5s, with --dev 0]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, env = "POINTSMAN_LAME_DUCK",
          help_heading = "Limits")]
    pub lame_duck: Option<Duration>,
    /// After that: time limit for requests in progress. A second signal aborts them.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "20s",
          env = "POINTSMAN_SHUTDOWN_GRACE", help_heading = "Limits")]
    pub shutdown_grace: Duration,
}

impl ServeArgs {
    /// The responses of the workbench, with the definitions of these flags. `current` is the webhook in use.
    #[must_use]
    pub fn dev_answers(&self, current: impl Fn() -> Arc<Webhook> + Send + Sync + 'static) -> DevAnswers {
        DevAnswers::new(self.kinds.clone(), current)
    }

    /// The files of the served definitions, and the webhook with the admission settings.
    ///
    /// # Errors
    /// A definition that cannot be read, by file and line.
    pub fn definitions(&self) -> anyhow::Result<(DefinitionFiles, Webhook)> {
        let metadata = match self.full_metadata {
            true => Metadata::Full,
            false => Metadata::Identity,
        };
        let trial = ServedTrial { cases: self.cases };
        DefinitionFiles::load(self.kinds.clone(), metadata, self.admission.settings(), trial)
    }

    /// The cluster with the facts of mutations.
    #[must_use]
    pub fn facts_cluster(&self) -> ConnectOptions {
        self.cluster.options()
    }

    /// Inconsistencies between this server and the files of `--registered`.
    ///
    /// # Errors
    /// A definition, or a file of `--registered`, that cannot be read, by file and line.
    pub fn misfits(&self) -> anyhow::Result<Vec<Finding>> {
        if self.registered.is_empty() {
            return Ok(Vec::new());
        }
        let sources: Vec<Source> = self.registered.iter().map(|file| read(file)).collect::<anyhow::Result<_>>()?;
        findings(&self.kinds.load()?, &sources, &self.admission.settings())
    }
}

/// An address to listen on.
fn address(text: &str) -> Result<SocketAddr, String> {
    let expected =
        "takes an IP address and a port instead of a name, such as 127.0.0.1:8443, or [::]:8443 for every address";
    text.parse().map_err(|_| expected.to_owned())
}

const EXAMPLES: &str = "\
Examples:
  Try the server on this machine, with a printed curl command:
    pointsman serve --dev

  In a Pod, with a certificate mounted from a Secret:
    pointsman serve --tls-cert-file /tls/tls.crt \\
      --tls-private-key-file /tls/tls.key

  Serve your own kinds; admission requires a client certificate:
    pointsman serve --kinds /kinds --client-ca-file /client-ca/ca.crt \\
      --tls-cert-file /tls/tls.crt --tls-private-key-file /tls/tls.key

The server reads the definitions of --kinds again when their files change. It
logs and ignores an invalid definition, and one that lacks a served version.
Replace a file as a whole, by `mv`: a file that is half written can be valid.

Signals:
  The first SIGTERM or SIGINT drains, the second one aborts. SIGHUP is ignored.

Exit codes:
  0  stopped by a signal, after all responses
  1  the server failed, or requests were aborted
  2  the flags are wrong";
