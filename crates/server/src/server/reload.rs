//! Reloads the certificate files.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use tokio::time::{sleep, timeout};

use super::options::Options;
use super::serve_error::ServeError;
use crate::runtime::current_tls::CurrentTls;
use crate::telemetry::error_chain::chain;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::throttle::WarningThrottle;
use pointsman_transport::certificates::{
    CertPaths, CertificateError, CertificateFiles, ClientCa, ExpiryWarnings, FileEvents, FileReader, LoadedFiles,
    ServingKeyPair, server_config,
};

/// The serving certificate with its files.
///
/// The files are read every few seconds, which is the only source of truth; an event of their *directory* only triggers
/// an earlier read. (A watch on a file breaks when a kubelet swaps the link that leads to it.) If the files are
/// unusable, the last good pair stays in use.
#[derive(Debug)]
pub(crate) struct Reloader {
    paths: CertPaths,
    client_ca_file: Option<PathBuf>,
    pair: ServingKeyPair,
    client_ca: Option<ClientCa>,
    tls: Arc<ArcSwap<CurrentTls>>,
    metrics: Arc<Metrics>,
    reader: FileReader,
    events: FileEvents,
    interval: Duration,
    expiry: ExpiryWarnings,
    complaint: WarningThrottle,
}

impl Reloader {
    /// The first read. Errors are fatal, since there is no earlier certificate. Only an invalid time is tolerated: it
    /// may be fixed by a renewal, or by setting the clock.
    pub(crate) fn load(options: &Options, metrics: Arc<Metrics>) -> Result<Self, ServeError> {
        let paths = options.cert.clone();
        let client_ca_file = options.client_ca_file.clone();
        let mut files = CertificateFiles::new(paths.clone(), client_ca_file.clone());
        let LoadedFiles { pair, client_ca, events } = files.read();
        let pair = pair.map_err(|source| ServeError::Pair { source })?;
        let unfit = |reason| CertificateError::Unfit { path: paths.cert.clone(), reason };
        pair.leaf.judge_kind().map_err(|reason| ServeError::Pair { source: unfit(reason) })?;
        if open_to_everybody(&paths.key) {
            // A kubelet's default: information instead of a warning.
            tracing::info!(path = %paths.key.display(), "every user can read the private key (see defaultMode of the volume)");
        }
        if let Err(reason) = pair.leaf.judge_time(now()) {
            tracing::warn!(error = %unfit(reason), "clients will reject the served certificate");
        }
        let client_ca = client_ca.transpose().map_err(|source| ServeError::ClientCa { source })?;
        let config = server_config(&paths, &pair, client_ca_file.as_deref().zip(client_ca.as_ref()))
            .map_err(|source| ServeError::Pair { source })?;
        metrics.certificates.serving(&pair.chain);
        metrics.certificates.files_read(now());
        tracing::info!(fingerprint = pair.fingerprint, expires = pair.leaf.expires, "certificate loaded");
        let mut this = Self {
            paths,
            client_ca_file,
            pair,
            client_ca,
            tls: Arc::new(ArcSwap::from_pointee(CurrentTls { config: Arc::new(config), authorities: 0 })),
            metrics,
            reader: FileReader::start(files).map_err(|source| ServeError::Thread { source })?,
            events: FileEvents::none(),
            interval: options.reload_interval,
            expiry: ExpiryWarnings::default(),
            complaint: WarningThrottle::default(),
        };
        this.listen(events);
        this.expiry.check(&this.pair.leaf, now());
        Ok(this)
    }

    /// The TLS settings of handshakes, updated by every reload.
    pub(crate) fn tls(&self) -> Arc<ArcSwap<CurrentTls>> {
        Arc::clone(&self.tls)
    }

    /// Reads periodically, until dropped.
    pub(crate) async fn run(mut self) {
        loop {
            tokio::select! {
                () = self.events.next() => {}
                () = sleep(self.interval) => {}
            }
            let mut read = self.reader.read();
            let found = loop {
                // Files on a network share may block, even forever.
                match timeout(DEADLINE, &mut read).await {
                    Ok(Ok(found)) => break found,
                    Ok(Err(_)) => {
                        tracing::error!(
                            "certificates are no longer reloaded: restart the server before the certificate expires"
                        );
                        return;
                    }
                    Err(_) => {
                        self.complain(&[format!("the files could not be read within {DEADLINE:?}")]);
                        self.expiry.check(&self.pair.leaf, now());
                    }
                }
            };
            self.metrics.certificates.files_read(now());
            self.take_over(found);
            self.expiry.check(&self.pair.leaf, now());
        }
    }

    fn listen(&mut self, events: Option<io::Result<FileEvents>>) {
        match events {
            Some(Ok(events)) => self.events = events,
            Some(Err(error)) => {
                tracing::warn!(%error, interval = ?self.interval, "failed to watch the certificates, polling only");
            }
            None => {}
        }
    }

    fn take_over(&mut self, LoadedFiles { pair, client_ca, events }: LoadedFiles) {
        self.listen(events);
        let mut errors = Vec::new();
        let pair = pair.and_then(|pair| self.judged(pair)).unwrap_or_else(|error| {
            errors.push(chain(&error));
            self.pair.clone()
        });
        let client_ca = match client_ca {
            Some(Ok(client_ca)) => Some(client_ca),
            Some(Err(error)) => {
                errors.push(chain(&error));
                self.client_ca.clone()
            }
            None => None,
        };
        if pair != self.pair || client_ca != self.client_ca {
            match server_config(&self.paths, &pair, self.client_ca_file.as_deref().zip(client_ca.as_ref())) {
                Ok(config) => {
                    let changed = u64::from(client_ca != self.client_ca);
                    let authorities = self.tls.load().authorities + changed;
                    let tls = CurrentTls { config: Arc::new(config), authorities };
                    self.tls.store(Arc::new(tls));
                    self.metrics.certificates.serving(&pair.chain);
                    self.metrics.certificates.reloaded();
                    tracing::info!(fingerprint = pair.fingerprint, expires = pair.leaf.expires, "certificate reloaded");
                    self.pair = pair;
                    self.client_ca = client_ca;
                }
                Err(error) => errors.push(chain(&error)),
            }
        }
        self.complain(&errors);
    }

    /// The current pair stays in use, even if expired: there is no better one.
    fn judged(&self, pair: ServingKeyPair) -> Result<ServingKeyPair, CertificateError> {
        if pair != self.pair {
            pair.leaf
                .judge_succession(&self.pair.leaf, now())
                .map_err(|reason| CertificateError::Unfit { path: self.paths.cert.clone(), reason })?;
        }
        Ok(pair)
    }

    fn complain(&mut self, errors: &[String]) {
        if errors.is_empty() {
            self.complaint.is_over();
            return;
        }
        self.metrics.certificates.reload_refused();
        let complaint = errors.join("; ");
        if self.complaint.is_due(&complaint) {
            tracing::warn!(
                error = complaint,
                serving = self.pair.fingerprint,
                expires = self.pair.leaf.expires,
                "certificate files cannot be used; still serving the last good certificate"
            );
        }
    }
}

fn open_to_everybody(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
}

fn now() -> u64 {
    // A clock before 1970 counts as 1970: no certificate is valid yet.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

/// Local files take microseconds. Longer reads are logged and counted repeatedly.
const DEADLINE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn world_readable_key_is_reported() {
        let key = tempfile::NamedTempFile::new().unwrap();
        for (mode, open) in [(0o600, false), (0o640, false), (0o644, true), (0o604, true), (0o633, false)] {
            fs::set_permissions(key.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(open_to_everybody(key.path()), open, "{mode:o}");
        }
        assert!(!open_to_everybody(&key.path().join("gone")));
    }
}
