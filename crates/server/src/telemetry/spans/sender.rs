//! The thread that sends spans: with its own runtime, so that serving threads neither encode spans nor wait for a
//! collector.

use std::io;
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use prost::Message;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::collector::Collector;
use super::queue::{BATCH, Queued};
use crate::telemetry::error_chain::chain;
use crate::telemetry::metrics::SpanMetrics;
use crate::telemetry::throttle::WarningThrottle;

/// Sends queued spans until the queue is dropped.
#[derive(Debug)]
pub(super) struct SpanSender {
    collector: Collector,
    resource: ResourceAttributesWithSchema,
    metrics: SpanMetrics,
    complaint: WarningThrottle,
}

impl SpanSender {
    /// Starts the thread.
    pub(super) fn start(
        collector: Collector,
        resource: &Resource,
        metrics: SpanMetrics,
        waiting: mpsc::Receiver<Queued>,
    ) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let this = Self { collector, resource: resource.into(), metrics, complaint: WarningThrottle::default() };
        thread::Builder::new().name("spans".to_owned()).spawn(move || {
            runtime.block_on(this.run(waiting));
            // A pending name resolution does not delay the shutdown.
            runtime.shutdown_background();
        })?;
        Ok(())
    }

    async fn run(mut self, mut waiting: mpsc::Receiver<Queued>) {
        while let Some(first) = waiting.recv().await {
            let Gathered { spans, flushed } = gather(first, &mut waiting).await;
            if !spans.is_empty() {
                self.send(spans).await;
            }
            for flushed in flushed {
                // The caller may have left.
                let _ = flushed.send(());
            }
        }
    }

    /// Sends spans once: a retry would delay later ones.
    async fn send(&mut self, spans: Vec<SpanData>) {
        let count = spans.len() as u64;
        match self.collector.take(encoded(spans, &self.resource)).await {
            Ok(0) => {}
            Ok(refused) => {
                self.metrics.not_taken(refused.min(count));
                self.complain("the collector refused some spans");
            }
            Err(error) => {
                self.metrics.not_taken(count);
                self.complain(&chain(&error));
            }
        }
    }

    fn complain(&mut self, error: &str) {
        // Same warning for any error: a collector with alternating errors logs no more lines.
        if self.complaint.is_due("spans") {
            tracing::warn!(error, "spans are lost, requests are answered as before (see --otlp-endpoint)");
        }
    }
}

/// Encodes spans as OTLP.
pub(super) fn encoded(spans: Vec<SpanData>, resource: &ResourceAttributesWithSchema) -> Vec<u8> {
    let resource_spans = group_spans_by_resource_and_scope(spans, resource);
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

/// Spans of one call, and callers that wait for it.
struct Gathered {
    spans: Vec<SpanData>,
    flushed: Vec<oneshot::Sender<()>>,
}

/// Takes spans from the queue until the batch is full, a second has passed, or a flush is requested.
async fn gather(first: Queued, waiting: &mut mpsc::Receiver<Queued>) -> Gathered {
    let mut gathered = Gathered { spans: Vec::new(), flushed: Vec::new() };
    let end = Instant::now() + PAUSE;
    let mut next = Some(first);
    while let Some(queued) = next {
        match queued {
            Queued::Span(span) => gathered.spans.push(*span),
            Queued::Flush(flushed) => gathered.flushed.push(flushed),
        }
        if gathered.spans.len() >= BATCH || !gathered.flushed.is_empty() {
            break;
        }
        next = timeout_at(end, waiting.recv()).await.unwrap_or_default();
    }
    gathered
}

/// Time that a span waits for others.
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::io::{Read, pipe};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::sync::Arc;

    use super::*;
    use crate::telemetry::metrics::Metrics;

    /// A port without listener.
    fn away() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 1).into()
    }

    /// A listener that disconnects.
    fn rude() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || drop(listener.accept()));
        address
    }

    /// A collector may be down for days, with spans every second.
    #[tokio::test]
    async fn missing_collector_logs_rarely() {
        let (mut log, writer) = pipe().unwrap();
        let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(Arc::new(writer)).finish();
        let metrics = Metrics::new(None, None).unwrap();
        let mut sender = SpanSender {
            collector: format!("http://{}", away()).parse().unwrap(),
            resource: (&Resource::builder().build()).into(),
            metrics: metrics.spans.clone(),
            complaint: WarningThrottle::default(),
        };
        let logged = tracing::subscriber::set_default(lines);
        // Down, disconnecting, down again: alternating errors.
        for address in [away(), away(), rude(), away()] {
            sender.collector = format!("http://{address}").parse().unwrap();
            sender.send(Vec::new()).await;
        }
        drop(logged);
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("WARN") && text.contains("spans are lost") && text.contains("failed to reach"), "{text}");
    }
}
