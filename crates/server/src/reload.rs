//! When to look at the certificate files again, and what to do with what is found.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use tokio::time::sleep;

use super::certificate_error::CertificateError;
use super::file_events::FileEvents;
use super::key_pair::{CertPaths, ServingPair, load_pair};
use super::metrics::Metrics;
use super::options::Options;
use super::serve_error::ServeError;
use super::tls::{ClientCa, load_client_ca, server_config};

/// The certificate that is served, and the files it came from.
///
/// Two sources of truth are watched badly, so there is one: the files are read every few seconds, and an event from
/// their *directory* is only a reason to do so sooner. (A watch on a file goes deaf when a kubelet swaps the link that
/// leads to it.) What cannot be used changes nothing: the last good pair goes on.
#[derive(Debug)]
pub(super) struct Reloader {
    paths: CertPaths,
    client_ca_file: Option<PathBuf>,
    pair: ServingPair,
    client_ca: Option<ClientCa>,
    config: Arc<ArcSwap<ServerConfig>>,
    metrics: Arc<Metrics>,
    events: FileEvents,
    interval: Duration,
    /// What was complained of last: said once, not every few seconds.
    complaint: Option<String>,
}

impl Reloader {
    /// The first look. What is wrong now is fatal, since there is nothing to go on with.
    pub(super) fn load(options: &Options, metrics: Arc<Metrics>) -> Result<Self, ServeError> {
        let paths = options.cert.clone();
        let client_ca_file = options.client_ca_file.clone();
        // Before the first look: what changes after it makes an event.
        let files = [Some(&paths.cert), Some(&paths.key), client_ca_file.as_ref()];
        let events = FileEvents::of_directories(files.into_iter().flatten().map(PathBuf::as_path));
        let pair = load_pair(&paths).map_err(|source| ServeError::Pair { source })?;
        let client_ca = client_ca_file
            .as_deref()
            .map(load_client_ca)
            .transpose()
            .map_err(|source| ServeError::ClientCa { source })?;
        let config =
            server_config(&paths, &pair, client_ca_file.as_deref().zip(client_ca.as_ref()))
                .map_err(|source| ServeError::Pair { source })?;
        let events = events.unwrap_or_else(|error| {
            tracing::warn!(%error, interval = ?options.reload_interval, "failed to watch the certificates, polling only");
            FileEvents::none()
        });
        metrics.certificates.serving(pair.not_after);
        tracing::info!(
            fingerprint = pair.fingerprint,
            expires = pair.expires,
            "certificate loaded"
        );
        Ok(Self {
            paths,
            client_ca_file,
            pair,
            client_ca,
            config: Arc::new(ArcSwap::from_pointee(config)),
            metrics,
            events,
            interval: options.reload_interval,
            complaint: None,
        })
    }

    /// What handshakes use; follows every reload.
    pub(super) fn config(&self) -> Arc<ArcSwap<ServerConfig>> {
        Arc::clone(&self.config)
    }

    /// Looks again and again, until dropped.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                () = self.events.next() => {}
                () = sleep(self.interval) => {}
            }
            // Files on a network share may take their time.
            self = match tokio::task::spawn_blocking(move || self.looked()).await {
                Ok(this) => this,
                Err(error) => {
                    tracing::error!(%error, "certificate reloading ended");
                    return;
                }
            };
        }
    }

    fn looked(mut self) -> Self {
        self.reload_once();
        self
    }

    fn reload_once(&mut self) {
        let mut errors = Vec::new();
        let pair = load_pair(&self.paths).unwrap_or_else(|error| {
            errors.push(chain(&error));
            self.pair.clone()
        });
        let client_ca = match self.client_ca_file.as_deref().map(load_client_ca) {
            Some(Ok(client_ca)) => Some(client_ca),
            Some(Err(error)) => {
                errors.push(chain(&error));
                self.client_ca.clone()
            }
            None => None,
        };
        if pair != self.pair || client_ca != self.client_ca {
            match server_config(
                &self.paths,
                &pair,
                self.client_ca_file.as_deref().zip(client_ca.as_ref()),
            ) {
                Ok(config) => {
                    self.config.store(Arc::new(config));
                    self.metrics.certificates.serving(pair.not_after);
                    self.metrics.certificates.reloaded();
                    tracing::info!(
                        fingerprint = pair.fingerprint,
                        expires = pair.expires,
                        "certificate reloaded"
                    );
                    self.pair = pair;
                    self.client_ca = client_ca;
                }
                Err(error) => errors.push(chain(&error)),
            }
        }
        self.complain(&errors);
    }

    fn complain(&mut self, errors: &[String]) {
        if errors.is_empty() {
            self.complaint = None;
            return;
        }
        self.metrics.certificates.reload_refused();
        let complaint = errors.join("; ");
        if self.complaint.as_ref() != Some(&complaint) {
            tracing::warn!(
                error = complaint,
                serving = self.pair.fingerprint,
                expires = self.pair.expires,
                "certificate files cannot be used, the last good certificate goes on"
            );
            self.complaint = Some(complaint);
        }
    }
}

fn chain(error: &CertificateError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
