//! Certificates: what is served, and what became of looks at the files.

use prometheus::{Error, Gauge, GaugeVec, Opts};

use super::registry::{Register, seconds};
use super::reloads::ReloadCounters;

/// The metrics of the certificate that is served.
#[derive(Debug)]
pub(crate) struct CertificateMetrics {
    reloads: ReloadCounters,
    expiry: Gauge,
    chain: GaugeVec,
    last_look: Gauge,
}

impl CertificateMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            reloads: ReloadCounters::new(
                new,
                "certificate_reloads_total",
                "Certificate files that changed and were taken over (success), or could not be (error).",
            )?,
            expiry: new.add(Gauge::new(
                "certificate_expiry_timestamp_seconds",
                "When the certificate that is served expires, in seconds since the epoch.",
            ))?,
            chain: new.add(GaugeVec::new(
                Opts::new(
                    "certificate_chain_expiry_timestamp_seconds",
                    "When each certificate that is shown expires: the leaf at position 0, then what leads to its issuer.",
                ),
                &["position", "fingerprint"],
            ))?,
            last_look: new.add(Gauge::new(
                "certificate_last_look_timestamp_seconds",
                "When the certificate files were last looked at, in seconds since the epoch.",
            ))?,
        })
    }

    /// Another certificate is served from now on. The first one of a process is no reload.
    /// `chain` has the fingerprint and the end of each certificate, the leaf first.
    pub(crate) fn serving(&self, chain: &[(String, u64)]) {
        self.chain.reset();
        for (position, (fingerprint, not_after)) in chain.iter().enumerate() {
            self.chain.with_label_values(&[&position.to_string(), fingerprint]).set(seconds(*not_after));
            if position == 0 {
                self.expiry.set(seconds(*not_after));
            }
        }
    }

    /// The files have been read, whatever was found.
    pub(crate) fn looked(&self, at: u64) {
        self.last_look.set(seconds(at));
    }

    pub(crate) fn reloaded(&self) {
        self.reloads.reloaded();
    }

    pub(crate) fn reload_refused(&self) {
        self.reloads.refused();
    }
}
