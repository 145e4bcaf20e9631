//! The span of one request, and its attributes.

use std::collections::BTreeSet;
use std::time::Duration;

use hyper::header::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, Status, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, Span};

use crate::refusal::Refusal;
use crate::telemetry::labels::{outcome_name, webhook_name};
use crate::telemetry::printable::printable;
use pointsman_core::webhook::{Conversions, Endpoint, Outcome, Reply};

/// The span of one request; empty if not traced. It ends when dropped, also if the client disconnects.
///
/// Attribute names are `pointsman.*`, except for those of the HTTP conventions.
#[derive(Debug)]
pub(crate) struct RequestSpan(Option<Box<Span>>);

impl RequestSpan {
    /// An empty span.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Begins a span, in the trace of the caller if its headers contain one (`traceparent`, w3.org/TR/trace-context).
    /// The sampling decision of the caller determines whether a span exists.
    pub(super) fn begin(tracer: &SdkTracer, endpoint: Endpoint, headers: &HeaderMap) -> Self {
        let (name, route) = match endpoint {
            Endpoint::Convert => ("POST /convert", "/convert"),
            Endpoint::Mutate => ("POST /mutate", "/mutate"),
            Endpoint::Validate => ("POST /validate", "/validate"),
        };
        let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &TraceHeaders(headers));
        let span = SpanBuilder::from_name(name).with_kind(SpanKind::Server);
        let mut span = tracer.build_with_context(span, &parent);
        if !span.is_recording() {
            return Self(None);
        }
        span.set_attribute(KeyValue::new("http.route", route));
        span.set_attribute(KeyValue::new("pointsman.webhook", webhook_name(Some(endpoint))));
        Self(Some(Box::new(span)))
    }

    /// Records the arrival time of the body and the decision time.
    pub(crate) fn decided(&mut self, arrival: Duration, decision: Duration) {
        if let Some(span) = &mut self.0 {
            span.set_attribute(KeyValue::new("pointsman.arrival_seconds", arrival.as_secs_f64()));
            span.set_attribute(KeyValue::new("pointsman.decision_seconds", decision.as_secs_f64()));
        }
    }

    /// Records a review.
    pub(crate) fn replied(&mut self, reply: &Reply) {
        let Some(span) = &mut self.0 else {
            return;
        };
        span.set_attribute(KeyValue::new("pointsman.outcome", outcome_name(reply.outcome)));
        span.set_attribute(KeyValue::new("pointsman.review.uid", printable(&reply.uid)));
        let all = || reply.conversions.iter().chain(&reply.failures);
        let objects: u64 = all().map(|some| some.objects).sum();
        let kinds = all().map(|some| &*some.kind).chain(reply.verdicts.iter().map(|verdict| &*verdict.kind));
        let kinds = names(kinds.chain(reply.failed.iter().map(|failed| &*failed.kind)));
        let versions = |of: fn(&Conversions) -> &str| names(all().map(of));
        for (key, names) in [
            ("pointsman.kind", kinds),
            ("pointsman.from", versions(|some| &some.from)),
            ("pointsman.to", versions(|some| &some.to)),
        ] {
            if !names.is_empty() {
                span.set_attribute(KeyValue::new(key, names));
            }
        }
        if objects > 0 {
            span.set_attribute(KeyValue::new("pointsman.objects", i64::try_from(objects).unwrap_or(i64::MAX)));
        }
        if reply.outcome == Outcome::Fail {
            span.set_status(Status::error(reply.message.as_deref().map(printable).unwrap_or_default()));
        }
    }

    /// Records a response without review. Panic messages are in the log only: they may quote the request.
    pub(crate) fn refused(&mut self, refusal: &Refusal) {
        if let Some(span) = &mut self.0 {
            span.set_status(Status::error(printable(&refusal.to_string())));
        }
    }

    /// Records the status code.
    pub(crate) fn answered(&mut self, code: u16) {
        if let Some(span) = &mut self.0 {
            span.set_attribute(KeyValue::new("http.response.status_code", i64::from(code)));
        }
    }
}

/// Names from definitions, without duplicates.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(",")
}

/// The trace headers of a request.
struct TraceHeaders<'h>(&'h HeaderMap);

impl Extractor for TraceHeaders<'_> {
    /// Oversized values are dropped: the span would hold uncounted memory until it is sent.
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok().filter(|value| value.len() <= LONGEST)
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

/// The length of `tracestate` that every participant must propagate (w3.org/TR/trace-context, 3.3.1.5).
const LONGEST: usize = 512;
