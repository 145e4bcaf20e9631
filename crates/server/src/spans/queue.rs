//! Spans on their way to the collector.

use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::{mpsc, oneshot};

use crate::metrics::SpanMetrics;

/// What the thread that sends gets.
#[derive(Debug)]
pub(super) enum Queued {
    Span(Box<SpanData>),
    /// Everything before this has been tried.
    Flush(oneshot::Sender<()>),
}

/// Where spans wait to be sent. A span that finds no room is lost, and counted.
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

    /// Waits until what is in the queue has been tried; for ever where the collector hangs.
    pub(super) async fn flush(&self) {
        let (tried, wait) = oneshot::channel();
        // Nobody sends any more where that fails, so there is nothing to wait for.
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

    /// Nothing: flushing has its time when the server drains, and what comes later is lost with the process.
    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// 1024 spans of at most about 3 KiB: a burst, in 3 MiB.
const ROOM: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use opentelemetry::trace::{Tracer, TracerProvider};
    use opentelemetry_sdk::trace::SdkTracerProvider;

    #[test]
    fn what_finds_no_room_is_counted_and_nobody_waits() {
        let metrics = Metrics::new(None).unwrap();
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
