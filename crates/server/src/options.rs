//! How to serve.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::body_limits::BodyLimits;
use super::definitions::Definitions;
use super::dev_page::DevPage;
use super::followed_facts::FollowedFacts;
use super::log_queue::LogQueue;
use super::memory::Memory;
use super::spans::Collector;
use pointsman_core::webhook::Conversions;
use pointsman_transport::certificates::CertPaths;

/// How to serve. [`Options::new`] fills in the defaults.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The webhooks' address. An unspecified IPv6 address (`[::]`) means every address of the host, IPv4 included,
    /// and falls back to `0.0.0.0` where the host has no IPv6.
    pub listen: SocketAddr,
    /// The address of `/metrics`, `/errors`, `/livez` and `/readyz`, in plain HTTP. `[::]` as for `listen`.
    pub admin_listen: SocketAddr,
    /// The certificate to serve and its key.
    pub cert: CertPaths,
    /// Where set, `/mutate` and `/validate` demand a client certificate of one of these authorities. `/convert` never
    /// does: an API server converts anonymously (its conversion client is built without a kubeconfig,
    /// apiextensions-apiserver conversion/webhook_converter.go). Default: none.
    pub client_ca_file: Option<PathBuf>,
    /// The common names of clients that `/mutate` and `/validate` are for, where `client_ca_file` is set; one of
    /// another name gets 403. Default: none, which means any.
    pub client_names: Vec<String>,
    /// The largest bodies read, in bytes. Default: [`BodyLimits::default`].
    pub body_limits: BodyLimits,
    /// The bytes that requests may hold at one time, over all connections: bodies as they arrive, a body and its
    /// [`weight`](pointsman_core::webhook::weight) while it is decided, answers until they are written. More is refused
    /// with 503 and `Retry-After`. A quarter is for requests of at most 256 KiB. No body is taken that could not be
    /// decided within the rest: an eighth of the budget. Default 512 MiB, in which the largest body finds room; see
    /// [`Memory`].
    pub memory_budget: u64,
    /// The connections held at one time; more wait in the kernel's queue. Default 2048: an API server uses one HTTP/1.1
    /// connection per concurrent call, at most 600 at its default `--max-requests-inflight` and
    /// `--max-mutating-requests-inflight` (400 and 200), and a control plane has three.
    pub max_connections: usize,
    /// How long a connection may stay without a request before it is closed. Default 125 s and not to be lowered under
    /// 120 s in production: the API server keeps idle connections for 90 s (Go's default transport) and does not repeat
    /// a POST that meets a closing connection, so the first to let go has to be the API server.
    pub idle_timeout: Duration,
    /// How long a request may take to arrive and be decided; a shorter `?timeout=` of the caller's prevails. Default
    /// 30 s, the longest an API server waits (conversion: always; admission: the upper bound of `timeoutSeconds`).
    pub request_deadline: Duration,
    /// How long a client may take to read its answer before its connection is closed. Default 10 s: an API server reads
    /// at once, and has given up after 30 s in all.
    pub write_timeout: Duration,
    /// How long a body may take to arrive, or an answer to be read, before the memory it holds is given to others where
    /// there is too little; and a second more for each 4 MiB of it. Default 250 ms: more than a round trip anywhere,
    /// and API servers have a body whole before they call.
    pub patience: Duration,
    /// The conversions there can be: their counters are there from the start, so that the first failure of one is seen
    /// by a rate. Default: none.
    pub conversions: Vec<Conversions>,
    /// What looks for changed definitions, as often as certificates are looked at. Default: nothing.
    pub definitions: Option<Definitions>,
    /// What is known of the facts that decisions hang on, for metrics; following them is the business of whoever
    /// decides. Default: nothing, and there are no such metrics.
    pub facts: Option<FollowedFacts>,
    /// A page at `/dev` of the admin address, for a server that one person tries. Default: none, and there is no such
    /// path.
    pub dev_page: Option<DevPage>,
    /// Where log lines go, for their metric; writing them is the business of whoever set up `tracing`. Default: none.
    pub log_queue: Option<LogQueue>,
    /// Where the spans of requests are sent: one of each, in the trace of the caller. Default: nowhere, and there are
    /// none.
    pub collector: Option<Collector>,
    /// How often certificates are looked at when no event says that they changed, and definitions at all. Default
    /// 10 s, as in controller-runtime's certwatcher.
    pub reload_interval: Duration,
    /// How long to serve on after the first request to stop, while `/readyz` says 503. Default 5 s: what endpoint
    /// controllers and proxies need to hear of it.
    pub lame_duck: Duration,
    /// How long requests under way may take after that. Default 20 s, so that pause and grace fit into the 30 s of a
    /// Pod's default `terminationGracePeriodSeconds`.
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
