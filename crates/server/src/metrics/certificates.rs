//! Certificates: what is served, and what became of looks at the files.

use prometheus::{Error, Gauge, IntCounterVec};

use super::registry::Register;

/// The metrics of the certificate that is served.
#[derive(Debug)]
pub(crate) struct CertificateMetrics {
    reloads: IntCounterVec,
    expiry: Gauge,
    last_look: Gauge,
}

impl CertificateMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        let this = Self {
            reloads: new.counters(
                "certificate_reloads_total",
                "Certificate files that changed and were taken over (success), or could not be (error).",
                &["result"],
            )?,
            expiry: new.add(Gauge::new(
                "certificate_expiry_timestamp_seconds",
                "When the certificate that is served expires, in seconds since the epoch.",
            ))?,
            last_look: new.add(Gauge::new(
                "certificate_last_look_timestamp_seconds",
                "When the certificate files were last looked at, in seconds since the epoch.",
            ))?,
        };
        for result in [RELOADED, REFUSED] {
            this.reloads.with_label_values(&[result]).inc_by(0);
        }
        Ok(this)
    }

    /// Another certificate is served from now on. The first one of a process is no reload.
    pub(crate) fn serving(&self, not_after: u64) {
        set(&self.expiry, not_after);
    }

    /// The files have been read, whatever was found.
    pub(crate) fn looked(&self, at: u64) {
        set(&self.last_look, at);
    }

    pub(crate) fn reloaded(&self) {
        self.reloads.with_label_values(&[RELOADED]).inc();
    }

    pub(crate) fn reload_refused(&self) {
        self.reloads.with_label_values(&[REFUSED]).inc();
    }
}

fn set(gauge: &Gauge, seconds: u64) {
    #[expect(clippy::cast_precision_loss, reason = "seconds since the epoch stay far below 2^52")]
    gauge.set(seconds as f64);
}

const RELOADED: &str = "success";
const REFUSED: &str = "error";
