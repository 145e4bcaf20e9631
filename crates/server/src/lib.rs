//! How requests reach us: sockets, TLS, files, clocks, metrics.
//!
//! [`Server::bind`] loads the certificate *before* it binds a socket, so that a deployment that cannot serve never
//! listens; [`Bound::run`] serves until it is told to stop. What a request means is not decided here: that is
//! [`Decide`], a function from bytes to bytes.
//!
//! Not made for the open internet: the peers we know are kube-apiservers, and every limit is derived from how they
//! behave (client-go and the API server's webhook packages, named beside each constant).

mod accept;
mod admin;
mod authorities;
mod body;
mod body_limits;
mod budget;
mod certificate_error;
mod certificate_files;
mod cgroup;
mod client;
mod connection;
mod decide;
mod descriptors;
pub mod dev;
mod expiry;
mod file_events;
mod handshake_failure;
mod key_pair;
mod labels;
mod leaf;
mod lifecycle;
mod line_limits;
mod listener;
mod log;
mod log_queue;
mod memory;
mod metrics;
mod options;
mod pem;
mod places;
mod process;
mod refusal;
mod reload;
mod requests;
mod routes;
mod serve_error;
mod server;
mod serving;
mod shutdown;
mod tls;
mod volume;

pub use self::authorities::{AuthorityRemark, NoCertificate, authority_remarks};
pub use self::body_limits::BodyLimits;
pub use self::certificate_error::CertificateError;
pub use self::decide::Decide;
pub use self::key_pair::CertPaths;
pub use self::leaf::Unfit;
pub use self::log_queue::LogQueue;
pub use self::memory::Memory;
pub use self::options::Options;
pub use self::process::serve;
pub use self::serve_error::ServeError;
pub use self::server::{Bound, Server};
pub use self::shutdown::{Shutdown, Trigger};
