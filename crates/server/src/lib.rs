//! The webhook server: routes, limits, memory, metrics and draining.
//!
//! [`Server::bind`] loads the certificate *before* it binds a socket, so that a deployment that cannot serve never
//! listens; [`BoundServer::run`] serves until a stop request. [`Decide`] makes the
//! decisions, from bytes to bytes: usually a [`ServedWebhook`].
//!
//! Not intended for the open internet: the expected peers are kube-apiservers, and every limit is derived from their
//! behaviour (client-go and the API server's webhook packages, named at each constant).

mod admin;
mod memory;
mod refusal;
mod request;
mod runtime;
mod server;
mod telemetry;

pub use self::admin::dev_page::DevPage;
pub use self::memory::body_limits::BodyLimits;
pub use self::memory::process_memory::Memory;
pub use self::request::request_handler::RequestHandler;
pub use self::runtime::decide::Decide;
pub use self::runtime::definitions::{DefinitionSource, Definitions};
pub use self::runtime::live_webhook::ServedWebhook;
pub use self::server::bound::{BoundServer, Server};
pub use self::server::options::Options;
pub use self::server::process::serve;
pub use self::server::serve_error::ServeError;
pub use self::server::shutdown::{Shutdown, Trigger};
pub use self::telemetry::fact_source::{FactSource, FollowedFact, FollowedFacts};
pub use self::telemetry::log_queue::LogQueue;
pub use self::telemetry::spans::{BadCollector, Collector};
pub use pointsman_transport::certificates::{
    AuthorityRemark, CertPaths, CertificateError, DevError, DevPair, NoCertificate, RejectionReason, authority_remarks,
    prepare as prepare_dev_pair,
};
