//! The steps of `rotate-ca`, in order.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;

use super::authorities::Authorities;
use super::options::{RotateError, RotateEvent, RotateOptions, RotateStep, Rotated};
use super::proof::Proof;
use super::trust_documents::{TrustingDocument, trusting};
use crate::call_error::CallError;
use crate::cluster::{Cluster, DRY, Extent, PatchForm};
use crate::conversion::{ClientStanza, TlsClient, WebhookPlace};
use crate::crd_state::{CrdState, REPLACED_WITHIN};
use crate::dry_run::DryRun;
use crate::stopwatch::Stopwatch;

/// Rotates the authority of a server: adds the new one, and drops the old one after every ready endpoint has presented
/// a certificate of the new one. Otherwise both stay trusted, and no call fails. Changes every CRD and webhook
/// configuration of the server.
///
/// The process can be killed at any time and run again: finished steps are detected.
///
/// # Errors
/// [`RotateError`]: the obstacle, and the changes made.
pub async fn rotate(
    cluster: &Cluster,
    options: &RotateOptions,
    report: &mut dyn FnMut(RotateEvent),
) -> Result<Rotated, RotateError> {
    let refused = |reason: &str| RotateError::Refused(reason.to_owned());
    let stanza = ClientStanza::of_config(&options.client).ok_or_else(|| refused("no server was named"))?;
    let wanted = stanza.authorities.as_deref().and_then(Authorities::of);
    let wanted = wanted.ok_or_else(|| refused("no authority to trust was given"))?;
    TlsClient::new(&stanza).map_err(RotateError::Refused)?;
    let found = trusting(cluster, &stanza.place).await?;
    if let Some(reason) = refusal(&found, &stanza.place, options.take_over) {
        return Err(RotateError::Refused(reason));
    }
    may_list(cluster, &found).await?;
    let steps = plan(&found, &wanted, options.wait);
    report(RotateEvent::Plan(steps.clone()));
    let documents = found.iter().map(|one| one.named.document.clone()).collect();
    let mut rotated = Rotated { steps, documents, ..Rotated::default() };
    let mut run = RotateRun { cluster, options, to: stanza.place, wanted, found, done: Vec::new(), crd_changes: 0 };
    match options.dry_run {
        Some(DryRun::Client) => return Ok(rotated),
        Some(DryRun::Server) => return run.try_all(report).await.map(|()| rotated),
        // Missing permissions are reported before the first change.
        None => run.try_all(&mut |_| {}).await?,
    }
    match run.steps(report).await {
        Err(RotateError::Call { error, .. }) => Err(RotateError::Call { error, done: run.done }),
        Err(error) => Err(error),
        Ok(endpoints) => {
            (rotated.endpoints, rotated.crd_changes) = (endpoints, run.crd_changes);
            Ok(rotated)
        }
    }
}

/// The reason to refuse any change.
fn refusal(found: &[TrustingDocument], to: &WebhookPlace, take_over: bool) -> Option<String> {
    if found.is_empty() {
        return Some(format!("no CRD and no webhook configuration of this cluster leads to {to}"));
    }
    found.iter().find_map(|one| match one.injected {
        Some(annotation) if !take_over => Some(format!(
            "cert-manager writes the caBundle of {}, by the annotation {annotation}, and would write only the \
                 new authority. --take-over removes the annotation; remove the annotation from your manifests as \
                 well",
            one.named.document
        )),
        _ => one.problem(),
    })
}

/// Checks the permissions of the final test.
async fn may_list(cluster: &Cluster, found: &[TrustingDocument]) -> Result<(), CallError> {
    for one in found.iter().filter(|one| one.named.is_crd) {
        let crd = CrdState::new(cluster.get(&one.path).await?)?;
        for version in crd.served() {
            match cluster.read(&format!("{}?limit=1", crd.collection(version)), Extent::MetadataOfAll).await {
                Err(error) if error.is_of_missing_rights() => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// The pending steps. The test of the endpoints is always included.
fn plan(found: &[TrustingDocument], wanted: &Authorities, wait: Duration) -> Vec<RotateStep> {
    let published = found.iter().filter(|one| one.injected.is_some() || !one.trusts(wanted));
    let dropped = found.iter().filter(|one| one.trusts_others(wanted));
    let publish = published.map(|one| RotateStep::Publish(one.named.clone()));
    publish.chain([RotateStep::Prove(wait)]).chain(dropped.map(|one| RotateStep::Drop(one.named.clone()))).collect()
}

/// A run with its input.
struct RotateRun<'r> {
    cluster: &'r Cluster,
    options: &'r RotateOptions,
    to: WebhookPlace,
    wanted: Authorities,
    found: Vec<TrustingDocument>,
    done: Vec<RotateStep>,
    crd_changes: u32,
}

impl RotateRun<'_> {
    /// Sends each change as dry run.
    async fn try_all(&self, report: &mut dyn FnMut(RotateEvent)) -> Result<(), RotateError> {
        for one in &self.found {
            if self.change(one, DRY, &|now| self.published(now)).await? {
                report(RotateEvent::Accepted(RotateStep::Publish(one.named.clone())));
            }
        }
        Ok(())
    }

    /// The patch that adds the new authority to a document, if missing.
    fn published(&self, now: &TrustingDocument) -> Option<Value> {
        (now.injected.is_some() || !now.trusts(&self.wanted)).then(|| now.with(&self.wanted))
    }

    /// All steps. Returns the tested endpoints.
    async fn steps(&mut self, report: &mut dyn FnMut(RotateEvent)) -> Result<Vec<String>, RotateError> {
        for one in self.found.clone() {
            let changed = self.change(&one, "", &|now| self.published(now)).await?;
            self.note(changed, &one, RotateStep::Publish(one.named.clone()), report);
        }
        if !self.done.is_empty() {
            report(RotateEvent::Settling(self.options.settle));
            sleep(self.options.settle).await;
        }
        let endpoints = self.prove(report).await?;
        let before = self.done.len();
        let wanted = self.wanted.clone();
        let alone = |now: &TrustingDocument| now.trusts_others(&wanted).then(|| now.only(&wanted));
        for one in self.found.clone() {
            let changed = self.change(&one, "", &alone).await?;
            self.note(changed, &one, RotateStep::Drop(one.named.clone()), report);
        }
        if self.done.len() == before {
            return Ok(endpoints);
        }
        match self.works().await {
            Ok(endpoints) => Ok(endpoints),
            Err(reason) => Err(RotateError::Needed { reason, after: self.put_back(report).await }),
        }
    }

    /// Changes the current document, regardless of other changes; skips a no-op. Returns true if it was changed by this
    /// process or concurrently, including an earlier request without received response.
    async fn change(
        &self,
        one: &TrustingDocument,
        query: &str,
        replaces: &dyn Fn(&TrustingDocument) -> Option<Value>,
    ) -> Result<bool, RotateError> {
        let mut tries = 0;
        loop {
            let now = match one.again(self.cluster, &self.to).await {
                Ok(now) => now,
                Err(error) if error.code() == Some(404) => None,
                Err(error) => return Err(error.into()),
            };
            let Some(patch) = now.as_ref().and_then(replaces) else { return Ok(tries > 0) };
            let path = format!("{}{query}", one.path);
            match self.cluster.patch(&path, PatchForm::Json, &patch, Extent::Metadata).await {
                Ok(_) => return Ok(true),
                Err(error) if error.code() == Some(409) && tries < TRIES => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn note(&mut self, changed: bool, one: &TrustingDocument, step: RotateStep, report: &mut dyn FnMut(RotateEvent)) {
        if changed {
            self.crd_changes += u32::from(one.named.is_crd);
            self.done.push(step.clone());
            report(RotateEvent::Done(step));
        }
    }

    /// Tests all endpoints repeatedly until they pass, or the time is over.
    async fn prove(&self, report: &mut dyn FnMut(RotateEvent)) -> Result<Vec<String>, RotateError> {
        let (began, mut reported) = (Instant::now(), String::new());
        loop {
            match self.proof().test().await {
                Ok(endpoints) => {
                    endpoints.iter().for_each(|one| report(RotateEvent::Shows { endpoint: one.clone() }));
                    return Ok(endpoints);
                }
                Err(RotateError::Unproven { reason, .. }) if began.elapsed() < self.options.wait => {
                    if reported != reason {
                        reported.clone_from(&reason);
                        report(RotateEvent::Waiting { reason });
                    }
                    sleep(OFTEN).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn proof(&self) -> Proof<'_> {
        let (cluster, endpoints, found, wanted) = (self.cluster, &self.options.endpoints, &self.found, &self.wanted);
        Proof { cluster, endpoints, found, wanted }
    }

    /// Checks that the API server reaches all endpoints with the new authority alone. Returns the endpoints.
    async fn works(&self) -> Result<Vec<String>, String> {
        sleep(REPLACED_WITHIN).await;
        let endpoints = self.proof().test().await.map_err(|error| match error {
            RotateError::Unproven { reason, .. } => reason,
            error => error.to_string(),
        })?;
        for one in self.found.iter().filter(|one| one.named.is_crd) {
            let Ok(crd) = self.cluster.get(&one.path).await.and_then(CrdState::new) else { continue };
            for version in crd.served() {
                converts(self.cluster, &crd, version).await?;
            }
        }
        Ok(endpoints)
    }

    /// Trusts the earlier authorities again. Returns the result as text.
    async fn put_back(&mut self, report: &mut dyn FnMut(RotateEvent)) -> String {
        for one in self.found.clone() {
            let Some(old) = one.all() else { continue };
            let replaces = |now: &TrustingDocument| (!now.trusts(&old)).then(|| now.with(&old));
            match self.change(&one, "", &replaces).await {
                Ok(changed) => self.note(changed, &one, RotateStep::Restore(one.named.clone()), report),
                Err(error) => return format!("and {} could not be restored: {error}", one.named.document),
            }
        }
        "both authorities are trusted again".to_owned()
    }
}

/// Checks that a version is readable, as far as it depends on the webhook.
async fn converts(cluster: &Cluster, crd: &CrdState, version: &str) -> Result<(), String> {
    let (began, path) = (Stopwatch::start(cluster), format!("{}?limit=10", crd.collection(version)));
    loop {
        match cluster.read(&path, Extent::MetadataOfAll).await {
            Err(error) if error.is_of_a_webhook() && began.elapsed() > REPLACED_WITHIN => {
                return Err(format!("{version} of {} cannot be read: {}", crd.name(), error.message()));
            }
            Err(error) if error.is_of_a_webhook() => sleep(OFTEN).await,
            // Other errors are unrelated to authorities.
            _ => return Ok(()),
        }
    }
}

/// Test interval; the wait is for people or Deployments.
const OFTEN: Duration = Duration::from_secs(1);

/// Controllers of the API server write the CRD's conditions, a few at most.
const TRIES: u16 = 10;
