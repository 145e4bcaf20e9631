//! The queue of spans to send.

use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::{mpsc, oneshot};

use crate::telemetry::metrics::SpanMetrics;

/// An entry for the sending thread.
#[derive(Debug)]
pub(super) enum Queued {
    Span(Box<SpanData>),
    /// Signals that all earlier spans were tried.
    Flush(oneshot::Sender<()>),
}

/// The queue of spans. If full, spans are lost, and counted.
#[derive(Clone, Debug)]
pub(super) struct SpanQueue {
    queue: mpsc::Sender<Queued>,
    metrics: SpanMetrics,
}

impl SpanQueue {
    pub(super) fn new(metrics: SpanMetrics) -> (Self, mpsc::Receiver<Queued>) {
        let (queue, waiting) = mpsc::channel(ROOM);
        (Self { queue, metrics }, waiting)
    }

    /// Waits until queued spans were tried; forever if the collector is unresponsive.
    pub(super) async fn flush(&self) {
        let (tried, wait) = oneshot::channel();
        // After a failure the sending thread has ended, so there is no result to await.
        if self.queue.send(Queued::Flush(tried)).await.is_ok() {
            let _ = wait.await;
        }
    }
}

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.queue.try_send(Queued::Span(Box::new(span))).is_err() {
            self.metrics.found_no_room();
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    /// No-op: the server flushes while draining, and later spans are lost with the process.
    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// 1024 spans of at most 7 KiB: a burst, in 7 MiB.
const ROOM: usize = 1024;

/// Spans per call: a fourth of the queue, at most 2 MiB.
pub(super) const BATCH: usize = 256;

/// Maximum memory of spans in bytes, with a collector: the queue, and one call.
pub(crate) const SPANS: u64 = 10 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::metrics::Metrics;
    use crate::telemetry::spans::request_span::RequestSpan;
    use crate::telemetry::spans::sender::encoded;
    use allocation_counter::measure;
    use hyper::header::{HeaderMap, HeaderValue};
    use opentelemetry::trace::{Tracer, TracerProvider};
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
    use pointsman_core::webhook::{Conversions, Endpoint, Outcome, Reply};

    /// A span of a request with maximum lengths.
    fn long(tracer: &SdkTracer) {
        let mut headers = HeaderMap::new();
        let parent = HeaderValue::from_static("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        headers.insert("traceparent", parent);
        // The maximum number of members, with the maximum total length.
        let state: Vec<_> = (0..32).map(|member| format!("m{member:02}={}", "v".repeat(11))).collect();
        headers.insert("tracestate", state.join(",").parse().unwrap());
        let mut span = RequestSpan::begin(tracer, Endpoint::Validate, &headers);
        let name = |length: usize| -> std::sync::Arc<str> { "n".repeat(length).into() };
        let conversions = Conversions { kind: name(63), from: name(63), to: name(63), objects: u64::MAX };
        span.replied(&Reply {
            body: Vec::new(),
            outcome: Outcome::Fail,
            uid: "\u{1}".repeat(4096),
            message: Some("\u{1}".repeat(4096)),
            failed: None,
            failures: Vec::new(),
            conversions: vec![conversions],
            notices: Vec::new(),
            verdicts: Vec::new(),
            flip: None,
        });
        span.decided(Duration::from_nanos(1), Duration::from_nanos(1));
        span.answered(200);
    }

    /// Measured at the allocator: the full queue, and a batch being sent.
    #[test]
    fn span_memory_is_bounded() {
        let metrics = Metrics::new(None, None).unwrap();
        let (queue, mut waiting) = SpanQueue::new(metrics.spans);
        let provider = SdkTracerProvider::builder().with_span_processor(queue).build();
        let tracer = provider.tracer("test");
        // One-time initialization.
        long(&tracer);
        let waiting_spans = measure(|| (1..ROOM).for_each(|_| long(&tracer))).bytes_current;
        let mut spans = Vec::new();
        while let (true, Ok(Queued::Span(span))) = (spans.len() < BATCH, waiting.try_recv()) {
            spans.push(*span);
        }
        assert_eq!(spans.len(), BATCH);
        let in_a_call = waiting_spans * BATCH as i64 / ROOM as i64;
        let resource = (&Resource::builder().build()).into();
        let of_the_call = measure(|| drop(encoded(spans, &resource))).bytes_max;
        let held = waiting_spans + in_a_call + of_the_call as i64;
        println!("{held} bytes: {waiting_spans} wait, {in_a_call} and {of_the_call} are on their way");
        // An allocator adds overhead to many small allocations.
        assert!(held as u64 <= SPANS - SPANS / 16, "{held}");
    }

    #[test]
    fn dropped_spans_are_counted() {
        let metrics = Metrics::new(None, None).unwrap();
        let (queue, waiting) = SpanQueue::new(metrics.spans.clone());
        let provider = SdkTracerProvider::builder().with_span_processor(queue).build();
        let tracer = provider.tracer("test");
        for _ in 0..ROOM + 7 {
            drop(tracer.start("span"));
        }
        assert_eq!(waiting.len(), ROOM);
        let text = metrics.text().unwrap();
        assert!(text.contains("pointsman_spans_lost_total{reason=\"queue\"} 7\n"), "{text}");
    }
}
