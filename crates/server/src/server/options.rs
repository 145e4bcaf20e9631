//! Server options.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::admin::dev_page::DevPage;
use crate::memory::body_limits::BodyLimits;
use crate::memory::process_memory::Memory;
use crate::runtime::definitions::Definitions;
use crate::telemetry::fact_source::FollowedFacts;
use crate::telemetry::log_queue::LogQueue;
use crate::telemetry::spans::Collector;
use pointsman_core::webhook::Conversions;
use pointsman_transport::certificates::CertPaths;

/// Server options. [`Options::new`] sets the defaults.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The address of the webhooks. An unspecified IPv6 address (`[::]`) includes IPv4, and falls back to `0.0.0.0` on
    /// a host without IPv6.
    pub listen: SocketAddr,
    /// The address of `/metrics`, `/errors`, `/livez` and `/readyz`, in plain HTTP. `[::]` as for `listen`.
    pub admin_listen: SocketAddr,
    /// The serving certificate and its key.
    pub cert: CertPaths,
    /// If set, `/mutate` and `/validate` require a client certificate of one of these authorities. `/convert` never
    /// does: an API server converts anonymously (its conversion client is built without a kubeconfig,
    /// apiextensions-apiserver conversion/webhook_converter.go). Default: none.
    pub client_ca_file: Option<PathBuf>,
    /// The allowed common names of clients of `/mutate` and `/validate`, if `client_ca_file` is set; other names get
    /// 403. Default: none, which allows any.
    pub client_names: Vec<String>,
    /// The maximum body sizes, in bytes. Default: [`BodyLimits::default`].
    pub body_limits: BodyLimits,
    /// The memory of all concurrent requests in bytes: bodies as they arrive, a body and its
    /// [`weight`](pointsman_core::webhook::weight) during its decision, responses until they are written. Requests
    /// beyond it get 503 with `Retry-After`. A quarter is for requests of at most 256 KiB. Bodies that could not be
    /// decided within the rest are refused: an eighth of the budget. Default 512 MiB, which fits the largest body; see
    /// [`Memory`].
    pub memory_budget: u64,
    /// The maximum number of connections; others wait in the kernel's queue. Default 2048: an API server uses one
    /// HTTP/1.1 connection per concurrent call, at most 600 at its default `--max-requests-inflight` and
    /// `--max-mutating-requests-inflight` (400 and 200), and a control plane has three.
    pub max_connections: usize,
    /// Idle timeout of a connection. Default 125 s; in production at least 120 s: the API server keeps idle connections
    /// for 90 s (Go's default transport) and does not repeat a POST on a closing connection, so the API server must
    /// close first.
    pub idle_timeout: Duration,
    /// Time limit for a request to arrive and be decided; a shorter `?timeout=` of the caller prevails. Default 30 s,
    /// the maximum of an API server (conversion: always; admission: the upper bound of `timeoutSeconds`).
    pub request_deadline: Duration,
    /// Time limit for a client to read its response before its connection is closed. Default 10 s: an API server reads
    /// at once, and gives up after 30 s in total.
    pub write_timeout: Duration,
    /// Time for a body to arrive or a response to be read before its memory can be reclaimed for others; plus one
    /// second per 4 MiB. Default 250 ms: more than any round trip, and API servers have the whole body before they
    /// call.
    pub patience: Duration,
    /// The possible conversions: their counters exist from the start, so that a rate includes the first failure.
    /// Default: none.
    pub conversions: Vec<Conversions>,
    /// Checks for changed definitions, at the same interval as certificates. Default: none.
    pub definitions: Option<Definitions>,
    /// The state of facts that decisions depend on, for metrics; the handler's owner follows the facts. Default: none,
    /// without such metrics.
    pub facts: Option<FollowedFacts>,
    /// A page at `/dev` of the admin address, for a server used by one person. Default: none, without such a path.
    pub dev_page: Option<DevPage>,
    /// The log queue, for its metric; the owner of `tracing` connects it. Default: none.
    pub log_queue: Option<LogQueue>,
    /// The collector of request spans: one per request, in the caller's trace. Default: none, without spans.
    pub collector: Option<Collector>,
    /// Interval of reads of certificates without a file event, and of definitions. Default 10 s, as in
    /// controller-runtime's certwatcher.
    pub reload_interval: Duration,
    /// Time to continue serving after the first stop request, while `/readyz` returns 503. Default 5 s: the propagation
    /// time of endpoint controllers and proxies.
    pub lame_duck: Duration,
    /// Time limit for requests in flight after that. Default 20 s, so that pause and grace fit into the 30 s of a Pod's
    /// default `terminationGracePeriodSeconds`.
    pub shutdown_grace: Duration,
}

impl Options {
    /// The defaults, for a certificate and two addresses.
    #[must_use]
    pub fn new(listen: SocketAddr, admin_listen: SocketAddr, cert: CertPaths) -> Self {
        Self {
            listen,
            admin_listen,
            cert,
            client_ca_file: None,
            client_names: Vec::new(),
            body_limits: BodyLimits::default(),
            memory_budget: Memory::default().budget,
            max_connections: Memory::default().connections,
            idle_timeout: Duration::from_secs(125),
            request_deadline: Duration::from_secs(30),
            write_timeout: Duration::from_secs(10),
            patience: Duration::from_millis(250),
            conversions: Vec::new(),
            definitions: None,
            facts: None,
            dev_page: None,
            log_queue: None,
            collector: None,
            reload_interval: Duration::from_secs(10),
            lame_duck: Duration::from_secs(5),
            shutdown_grace: Duration::from_secs(20),
        }
    }
}
