//! Measured rounds as rows of a table.

use std::time::Duration;

use serde_json::json;

use crate::load::Asked;
use crate::process::Server;
use crate::scenario::Scenario;

/// The head of the table.
pub(crate) const HEAD: &str = concat!(
    "load                           server              CPU us/req  us/object    p50 us    p90    p99  p99.9",
    "    req/s  objects/s  start ms  idle MB  peak MB  later MB  failed"
);

/// The results of the rounds.
#[derive(Debug)]
pub(crate) struct Measured {
    /// CPU time per request: the median over the rounds, in microseconds.
    pub(crate) cpu: f64,
    /// The durations of all rounds, sorted.
    took: Vec<Duration>,
    /// Responses per second: the median over the rounds.
    per_second: f64,
    failed: usize,
}

impl Measured {
    pub(crate) fn of(rounds: Vec<(Duration, Asked)>) -> Self {
        let each = |cpu: &Duration, asked: &Asked| cpu.as_secs_f64() * 1e6 / asked.took.len().max(1) as f64;
        let cpu = median(rounds.iter().map(|(cpu, asked)| each(cpu, asked)).collect());
        let rate = |asked: &Asked| asked.took.len() as f64 / asked.wall.as_secs_f64();
        let per_second = median(rounds.iter().map(|(_, asked)| rate(asked)).collect());
        let failed = rounds.iter().map(|(_, asked)| asked.failed).sum();
        let mut took: Vec<Duration> = rounds.into_iter().flat_map(|(_, asked)| asked.took).collect();
        took.sort_unstable();
        Self { cpu, took, per_second, failed }
    }
}

/// The duration that this share of responses did not exceed, in microseconds.
pub(crate) fn percentile(sorted: &[Duration], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).map_or(0.0, |took| took.as_secs_f64() * 1e6)
}

/// The median of some values; 0 if there are none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// A server under a load.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) load: String,
    pub(crate) server: &'static str,
    objects: usize,
    pub(crate) measured: Measured,
    startup: Option<Duration>,
    idle: Option<u64>,
    peak: Option<u64>,
    /// Memory use one second after the last response.
    later: Option<u64>,
}

impl Row {
    /// The row of a server, one second after its last response.
    pub(crate) fn new(scenario: &Scenario, server: &Server, measured: Measured) -> Self {
        let (load, objects) = (scenario.name(), scenario.objects);
        let (startup, idle, peak, later) = (server.startup, server.idle, server.peak(), server.held());
        Self { load, server: server.program.name(), objects, measured, startup, idle, peak, later }
    }

    pub(crate) fn line(&self) -> String {
        let Measured { cpu, took, per_second, failed } = &self.measured;
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|share| percentile(took, share));
        let objects = self.objects as f64;
        let mega = |bytes: Option<u64>| bytes.map_or(0.0, |bytes| bytes as f64 / 1e6);
        let start = self.startup.map_or(0.0, |startup| startup.as_secs_f64() * 1e3);
        format!(
            "{:<30} {:<18} {cpu:>11.1} {:>10.1} {p50:>9.0} {p90:>6.0} {p99:>6.0} {p999:>6.0} {per_second:>8.0} {:>10.0} \
             {start:>9.1} {:>8.1} {:>8.1} {:>9.1} {failed:>7}",
            self.load,
            self.server,
            cpu / objects,
            per_second * objects,
            mega(self.idle),
            mega(self.peak),
            mega(self.later),
        )
    }

    pub(crate) fn json(&self) -> String {
        let Measured { cpu, took, per_second, failed } = &self.measured;
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|share| percentile(took, share));
        json!({
            "load": self.load, "server": self.server, "objects": self.objects, "requests": took.len(), "failed": failed,
            "cpuMicroseconds": cpu, "requestsPerSecond": per_second, "objectsPerSecond": per_second * self.objects as f64,
            "microseconds": {"p50": p50, "p90": p90, "p99": p99, "p99.9": p999},
            "startMilliseconds": self.startup.map(|startup| startup.as_secs_f64() * 1e3),
            "idleBytes": self.idle, "peakBytes": self.peak, "laterBytes": self.later,
        })
        .to_string()
    }
}
