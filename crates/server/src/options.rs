//! How to serve.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::body_limits::BodyLimits;
use super::key_pair::CertPaths;

/// How to serve. [`Options::new`] fills in the defaults.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The webhooks' address. An unspecified IPv6 address (`[::]`) means every address of the host, IPv4 included,
    /// and falls back to `0.0.0.0` where the host has no IPv6.
    pub listen: SocketAddr,
    /// The address of `/metrics`, `/livez` and `/readyz`, in plain HTTP. `[::]` as for `listen`.
    pub admin_listen: SocketAddr,
    /// The certificate to serve and its key.
    pub cert: CertPaths,
    /// Where set, `/mutate` and `/validate` demand a client certificate of one of these authorities. `/convert` never
    /// does: an API server converts anonymously (its conversion client is built without a kubeconfig,
    /// apiextensions-apiserver conversion/webhook_converter.go). Default: none.
    pub client_ca_file: Option<PathBuf>,
    /// The largest bodies read, in bytes. Default: [`BodyLimits::default`].
    pub body_limits: BodyLimits,
    /// The bytes of request bodies held at one time, over all connections; more is refused with 503 and `Retry-After`.
    /// Default 128 MiB, twice the largest body: one large conversion never keeps another out. Raised to the largest
    /// of `body_limits` where it is smaller, or such a body could never be served.
    pub body_budget: u64,
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
    /// How often certificates are looked at when no event says that they changed. Default 10 s, as in
    /// controller-runtime's certwatcher.
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
            body_limits: BodyLimits::default(),
            body_budget: 128 * 1024 * 1024,
            max_connections: 2048,
            idle_timeout: Duration::from_secs(125),
            request_deadline: Duration::from_secs(30),
            reload_interval: Duration::from_secs(10),
            lame_duck: Duration::from_secs(5),
            shutdown_grace: Duration::from_secs(20),
        }
    }
}
