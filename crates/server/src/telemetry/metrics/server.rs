//! All metrics of one server.

use prometheus::process_collector::ProcessCollector;
use prometheus::{Error, IntCounter, Registry, TextEncoder};

use super::certificates::CertificateMetrics;
use super::connections::ConnectionMetrics;
use super::decisions::DecisionMetrics;
use super::definitions::DefinitionMetrics;
use super::facts::FactMetrics;
use super::logs::LogMetrics;
use super::memory::MemoryMetrics;
use super::registry::Register;
use super::requests::RequestMetrics;
use super::spans::SpanMetrics;
use crate::telemetry::fact_source::FollowedFacts;

/// The metrics of one server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// Of the process, with Prometheus' standard names.
    process: Registry,
    pub(crate) certificates: CertificateMetrics,
    pub(crate) connections: ConnectionMetrics,
    pub(crate) decisions: DecisionMetrics,
    pub(crate) definitions: DefinitionMetrics,
    facts: FactMetrics,
    pub(crate) logs: LogMetrics,
    pub(crate) memory: MemoryMetrics,
    pub(crate) requests: RequestMetrics,
    pub(crate) spans: SpanMetrics,
}

impl Metrics {
    /// `lost_lines` counts lines lost by the log queue, if any; `facts` returns the state of facts, if any.
    pub(crate) fn new(lost_lines: Option<IntCounter>, facts: Option<FollowedFacts>) -> Result<Self, Error> {
        let registry = Registry::new_custom(Some(PREFIX.to_owned()), None)?;
        let process = Registry::new();
        process.register(Box::new(ProcessCollector::for_self()))?;
        let new = Register(&registry);
        let version = new.gauges("build_info", "1, labelled with the running version.", &["version"])?;
        version.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Ok(Self {
            certificates: CertificateMetrics::new(&new)?,
            connections: ConnectionMetrics::new(&new)?,
            decisions: DecisionMetrics::new(&new)?,
            definitions: DefinitionMetrics::new(&new)?,
            facts: FactMetrics::new(&new, facts)?,
            logs: LogMetrics::new(&new, lost_lines)?,
            memory: MemoryMetrics::new(&new)?,
            requests: RequestMetrics::new(&new)?,
            spans: SpanMetrics::new(&new)?,
            registry: registry.clone(),
            process,
        })
    }

    /// All metrics in Prometheus' text format.
    pub(crate) fn text(&self) -> Result<String, Error> {
        self.facts.update();
        let mut families = self.registry.gather();
        families.extend(self.process.gather());
        TextEncoder::new().encode_to_string(&families)
    }
}

/// The prefix of every name.
const PREFIX: &str = "pointsman";
