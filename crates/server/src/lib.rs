//! The webhook server: routes, limits, memory, metrics and draining.
//!
//! [`Server::bind`] loads the certificate *before* it binds a socket, so that a deployment that cannot serve never
//! listens; [`BoundServer::run`] serves until a stop request. [`Decide`] makes the
//! decisions, from bytes to bytes: usually a [`ServedWebhook`].
//!
//! Not intended for the open internet: the expected peers are kube-apiservers, and every limit is derived from their
//! behaviour (client-go and the API server's webhook packages, named at each constant).

mod admin;
mod body;
mod body_limits;
mod budget;
mod cgroup;
mod client;
mod current_tls;
mod descriptors;
mod dev_page;
mod error_chain;
mod labels;
mod last_errors;
mod line_limits;
mod line_window;
mod listener;
mod log;
mod log_queue;
mod memory;
mod metrics;
mod options;
mod printable;
mod process;
mod refusal;
mod reload;
mod request_head;
mod reservations;
mod routes;
mod runtime;
mod serve_error;
mod server;
mod shutdown;
mod spans;
mod throttle;

pub use self::body_limits::BodyLimits;
pub use self::dev_page::DevPage;
pub use self::log_queue::LogQueue;
pub use self::memory::Memory;
pub use self::options::Options;
pub use self::process::serve;
pub use self::runtime::{
    Decide, DefinitionSource, Definitions, FactSource, FollowedFact, FollowedFacts, RequestHandler, ServedWebhook,
};
pub use self::serve_error::ServeError;
pub use self::server::{BoundServer, Server};
pub use self::shutdown::{Shutdown, Trigger};
pub use self::spans::{BadCollector, Collector};
pub use pointsman_transport::certificates::{
    AuthorityRemark, CertPaths, CertificateError, DevError, DevPair, NoCertificate, RejectionReason, authority_remarks,
    prepare as prepare_dev_pair,
};
