//! Metrics of certificates: the serving chain, and reads of the files.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Error, Gauge, GaugeVec, Opts};

use super::registry::{Register, seconds};
use super::reloads::ReloadCounters;

/// Metrics of the serving certificate.
#[derive(Debug)]
pub(crate) struct CertificateMetrics {
    reloads: ReloadCounters,
    expiry: Gauge,
    chain: ChainExpiry,
    last_read: Gauge,
}

impl CertificateMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            reloads: ReloadCounters::new(
                new,
                "certificate_reloads_total",
                "Changes of the certificate files that were loaded (success), or rejected (error).",
            )?,
            expiry: new.add(Gauge::new(
                "certificate_expiry_timestamp_seconds",
                "Expiry time of the served certificate, in seconds since the epoch.",
            ))?,
            chain: new.add(ChainExpiry::new())?,
            last_read: new.add(Gauge::new(
                "certificate_last_look_timestamp_seconds",
                "Time of the last check of the certificate files, in seconds since the epoch.",
            ))?,
        })
    }

    /// Records a new serving certificate. The first one of a process is no reload. `chain` contains fingerprint and
    /// expiry of each certificate, the leaf first.
    pub(crate) fn serving(&self, chain: &[(String, u64)]) {
        self.chain.replace(chain);
        if let Some((_, not_after)) = chain.first() {
            self.expiry.set(seconds(*not_after));
        }
    }

    /// Records a read of the files, whatever its result.
    pub(crate) fn files_read(&self, at: u64) {
        self.last_read.set(seconds(at));
    }

    pub(crate) fn reloaded(&self) {
        self.reloads.reloaded();
    }

    pub(crate) fn reload_refused(&self) {
        self.reloads.refused();
    }
}

/// The expiry of each certificate of a chain. A scrape always sees a complete chain: a moment without would restart the
/// waiting time of an alert.
#[derive(Clone, Debug)]
struct ChainExpiry {
    gauges: GaugeVec,
    whole: Arc<Mutex<()>>,
}

impl ChainExpiry {
    fn new() -> Result<Self, Error> {
        let opts = Opts::new(
            "certificate_chain_expiry_timestamp_seconds",
            "Expiry time of each served certificate: the leaf at position 0, then its issuers.",
        );
        Ok(Self { gauges: GaugeVec::new(opts, &["position", "fingerprint"])?, whole: Arc::default() })
    }

    fn replace(&self, chain: &[(String, u64)]) {
        let _whole = self.whole();
        self.gauges.reset();
        for (position, (fingerprint, not_after)) in chain.iter().enumerate() {
            self.gauges.with_label_values(&[&position.to_string(), fingerprint]).set(seconds(*not_after));
        }
    }

    /// No code panics while holding this lock.
    fn whole(&self) -> MutexGuard<'_, ()> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for ChainExpiry {
    fn desc(&self) -> Vec<&Desc> {
        self.gauges.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let _whole = self.whole();
        self.gauges.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn replaced_chain_is_read_whole() {
        let expiry = ChainExpiry::new().unwrap();
        let chains = ["a", "b"].map(|name| [0, 1].map(|position| (format!("{name}{position}"), 1)));
        expiry.replace(&chains[0]);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for chain in chains.iter().cycle().take_while(|_| !done.load(Ordering::Relaxed)) {
                    expiry.replace(chain);
                }
            });
            let collected: Vec<_> = (0..20_000)
                .map(|_| {
                    let families = expiry.collect();
                    let values = families.iter().flat_map(MetricFamily::get_metric);
                    values.map(|metric| metric.get_gauge().get_value()).sum::<f64>()
                })
                .collect();
            done.store(true, Ordering::Relaxed);
            assert_eq!(collected.iter().filter(|sum| **sum != 2.0).count(), 0);
        });
    }
}
