//! When to look at the certificate files again, and what to do with what is found.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use rustls::ServerConfig;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::metrics::Metrics;
use super::pair::{CertPaths, PairError, ServingPair, directory, load_pair};
use super::tls::{ClientCa, load_client_ca, server_config};
use super::{Options, ServeError};

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
    interval: Duration,
    /// What was complained of last: said once, not every few seconds.
    complaint: Option<String>,
}

impl Reloader {
    /// The first look. What is wrong now is fatal, since there is nothing to go on with.
    pub(super) fn load(options: &Options, metrics: Arc<Metrics>) -> Result<Self, ServeError> {
        let paths = options.cert.clone();
        let client_ca_file = options.client_ca_file.clone();
        let pair = load_pair(&paths).map_err(|source| ServeError::Pair { source })?;
        let client_ca = client_ca_file
            .as_deref()
            .map(load_client_ca)
            .transpose()
            .map_err(|source| ServeError::ClientCa { source })?;
        let config = server_config(
            &paths,
            &pair,
            client_ca_file.as_deref().zip(client_ca.as_ref()),
        )
        .map_err(|source| ServeError::Pair { source })?;
        metrics.serving(pair.not_after);
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
        // One place: a burst of events is one hint (a kubelet's swap makes about seven).
        let (hint, mut hints) = mpsc::channel(1);
        let _watcher = self.watch(hint);
        loop {
            tokio::select! {
                // Let the burst pass. Without a watcher this branch is never taken.
                Some(()) = hints.recv() => {
                    sleep(SETTLE).await;
                    let _ = hints.try_recv();
                }
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
                    self.metrics.serving(pair.not_after);
                    self.metrics.reloaded();
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
        self.metrics.reload_refused();
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

    fn watch(&self, hint: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
        let paths = [
            Some(&self.paths.cert),
            Some(&self.paths.key),
            self.client_ca_file.as_ref(),
        ];
        let directories: BTreeSet<&Path> = paths
            .into_iter()
            .flatten()
            .map(|path| directory(path))
            .collect();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_change(event.kind)) {
                // Full means that a hint is waiting already.
                let _ = hint.try_send(());
            }
        })
        .and_then(|mut watcher| {
            directories
                .into_iter()
                .try_for_each(|directory| watcher.watch(directory, RecursiveMode::NonRecursive))?;
            Ok(watcher)
        });
        watcher
            .inspect_err(|error| {
                tracing::warn!(%error, interval = ?self.interval, "failed to watch the certificates, polling only");
            })
            .ok()
    }
}

/// Reading is no change: our own reading would hint at more of it for ever.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Other
        | EventKind::Remove(_) => true,
    }
}

fn chain(error: &PairError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Between an event and the look: a burst lasts a few milliseconds.
const SETTLE: Duration = Duration::from_millis(50);
