//! Tracing of requests.

use std::io;

use hyper::header::HeaderMap;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use super::collector::Collector;
use super::queue::SpanQueue;
use super::request_span::RequestSpan;
use super::sender::SpanSender;
use crate::telemetry::metrics::SpanMetrics;
use pointsman_core::webhook::Endpoint;

/// Creates spans of requests, if enabled.
#[derive(Clone, Debug)]
pub(crate) struct RequestTracer(Option<SpanMaker>);

#[derive(Clone, Debug)]
struct SpanMaker {
    tracer: SdkTracer,
    queue: SpanQueue,
}

impl RequestTracer {
    /// Starts the thread that sends spans to a collector, if configured.
    pub(crate) fn start(collector: Option<Collector>, metrics: &SpanMetrics) -> io::Result<Self> {
        let Some(collector) = collector else {
            return Ok(Self(None));
        };
        let resource = resource();
        let (queue, waiting) = SpanQueue::new(metrics.clone());
        SpanSender::start(collector, &resource, metrics.clone(), waiting)?;
        // The caller decides about the sampling of its traces. New traces are all sampled, unless OTEL_TRACES_SAMPLER,
        // which the library reads, contains another rule.
        let provider = SdkTracerProvider::builder().with_resource(resource).with_span_processor(queue.clone()).build();
        Ok(Self(Some(SpanMaker { tracer: provider.tracer("pointsman"), queue })))
    }

    /// The span of a request. Free of cost if disabled.
    pub(crate) fn begin(&self, endpoint: Option<Endpoint>, headers: &HeaderMap) -> RequestSpan {
        match (&self.0, endpoint) {
            (Some(maker), Some(endpoint)) => RequestSpan::begin(&maker.tracer, endpoint, headers),
            _ => RequestSpan::none(),
        }
    }

    /// Waits until finished spans were sent or refused.
    pub(crate) async fn flush(&self) {
        if let Some(maker) = &self.0 {
            maker.queue.flush().await;
        }
    }
}

/// The resource: from `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, with a default name.
fn resource() -> Resource {
    let resource = Resource::builder().build();
    let named = resource
        .iter()
        .any(|(key, name)| key.as_str() == "service.name" && !name.as_str().starts_with("unknown_service"));
    let resource = Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if named { resource.build() } else { resource.with_service_name("pointsman").build() }
}
