//! Spans of requests for tracing systems, if enabled (`--otlp-endpoint`).
//!
//! A span never delays a response: it is put into a bounded queue, or lost and counted. A separate thread sends queued
//! spans to a collector, by OTLP over HTTP.

mod collector;
mod queue;
mod request_span;
mod sender;
mod tracer;

pub use self::collector::{BadCollector, Collector};
pub(crate) use self::queue::SPANS;
pub(crate) use self::request_span::RequestSpan;
pub(crate) use self::tracer::RequestTracer;
