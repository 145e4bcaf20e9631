//! Spans: what is told of a request to whoever traces it, where somebody asked for that (`--otlp-endpoint`).
//!
//! A span never holds up an answer: it goes into a bounded queue, or is lost and counted. A thread of its own sends
//! what is in there to a collector, by OTLP over HTTP.

mod collector;
mod queue;
mod request_span;
mod sender;
mod tracer;

pub use self::collector::{BadCollector, Collector};
pub(crate) use self::queue::SPANS;
pub(crate) use self::request_span::RequestSpan;
pub(crate) use self::tracer::RequestTracer;
