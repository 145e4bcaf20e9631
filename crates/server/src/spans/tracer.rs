//! Whether requests are traced, and by which spans.

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
use crate::metrics::SpanMetrics;
use pointsman_core::webhook::Endpoint;

/// What traces requests, where somebody asked for it.
#[derive(Clone, Debug)]
pub(crate) struct RequestTracer(Option<SpanMaker>);

#[derive(Clone, Debug)]
struct SpanMaker {
    tracer: SdkTracer,
    queue: SpanQueue,
}

impl RequestTracer {
    /// Starts the thread that sends spans to a collector, if there is one.
    pub(crate) fn start(collector: Option<Collector>, metrics: &SpanMetrics) -> io::Result<Self> {
        let Some(collector) = collector else {
            return Ok(Self(None));
        };
        let resource = resource();
        let (queue, waiting) = SpanQueue::new(metrics.clone());
        SpanSender::start(collector, &resource, metrics.clone(), waiting)?;
        // Which traces are sampled is said by the caller; of those that begin here, all, unless OTEL_TRACES_SAMPLER
        // says something else, which the library reads.
        let provider = SdkTracerProvider::builder().with_resource(resource).with_span_processor(queue.clone()).build();
        Ok(Self(Some(SpanMaker { tracer: provider.tracer("pointsman"), queue })))
    }

    /// The span of a request that has begun. Costs nothing where nobody asked for spans.
    pub(crate) fn begin(&self, endpoint: Option<Endpoint>, headers: &HeaderMap) -> RequestSpan {
        match (&self.0, endpoint) {
            (Some(maker), Some(endpoint)) => RequestSpan::begin(&maker.tracer, endpoint, headers),
            _ => RequestSpan::none(),
        }
    }

    /// Waits until the spans that have ended were sent, or not taken.
    pub(crate) async fn flush(&self) {
        if let Some(maker) = &self.0 {
            maker.queue.flush().await;
        }
    }
}

/// Who sends: what `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say, and our own name where they say none.
fn resource() -> Resource {
    let said = Resource::builder().build();
    let named =
        said.iter().any(|(key, name)| key.as_str() == "service.name" && !name.as_str().starts_with("unknown_service"));
    let resource = Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if named { resource.build() } else { resource.with_service_name("pointsman").build() }
}
