//! The steps of `disable`, in order.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::final_check::{ListResult, away, back, leads_nowhere, list_all, to_nowhere};
use super::options::{DisableError, DisableEvent, DisableOptions, DisableStep, Disabled};
use super::plan::{DisablePlan, Unplanned, plan};
use super::registrations::{OwnDocument, registered};
use super::translation::{may_patch, rename_references, translate_owners};
use crate::call_error::CallError;
use crate::cluster::{Cluster, DRY, Extent, PatchForm};
use crate::conversion::ClientStanza;
use crate::crd_state::CrdState;
use crate::dry_run::DryRun;
use crate::ownership::VersionCounts;
use crate::pages::{Pages, items};
use crate::stopwatch::Stopwatch;

/// Removes the conversion of a CRD. Refuses if data would be lost: objects stored in several versions, or versions
/// still served. Does not rely on `status.storedVersions`: before the end, it points the conversion at an unreachable
/// webhook and lists every object.
///
/// The process can be killed at any time and run again: finished steps are detected.
///
/// # Errors
/// [`DisableError`]: the obstacle, and the changes made.
pub async fn disable(
    cluster: &Cluster,
    options: &DisableOptions,
    report: &mut dyn FnMut(DisableEvent),
) -> Result<Disabled, DisableError> {
    let crd = CrdState::fetch(cluster, &options.name).await?;
    let (ours, unlisted) = match registered(cluster, &crd).await {
        Ok(ours) => (ours, None),
        Err(error) if options.admission => return Err(error.into()),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let deleted = if options.admission { ours.clone() } else { Vec::new() };
    let enabled = ClientStanza::of(&options.enabled);
    let planned = match plan(&crd, enabled.as_ref(), options.served.as_deref(), &deleted) {
        Ok(planned) => planned,
        Err(Unplanned::Refused(reason)) => return Err(DisableError::Refused(reason)),
        Err(Unplanned::Stored(reason)) => {
            return Err(DisableError::Refused(emergency(cluster, &crd, options, reason, report).await));
        }
    };
    report(DisableEvent::Plan(planned.steps.clone()));
    let left = if options.admission { &[][..] } else { &ours };
    let mut disabled = Disabled {
        crd: crd.name(),
        version: planned.version.clone(),
        steps: planned.steps.clone(),
        objects: None,
        kept: BTreeMap::new(),
        named: VersionCounts::default(),
        registered: left.iter().map(|one| one.document.clone()).collect(),
        unlisted,
    };
    let run = DisableRun { cluster, options, planned: &planned, enabled: enabled.as_ref(), deleted: &deleted };
    match options.dry_run {
        Some(DryRun::Client) => return Ok(disabled),
        Some(DryRun::Server) => return run.try_all(report).await.map(|()| disabled),
        // Missing permissions are reported before the first change.
        None => run.may_all(&crd).await?,
    }
    for step in &planned.steps {
        run.take(step, report).await?;
        report(DisableEvent::Done(step.clone()));
    }
    let listed = run.verify(report).await?;
    (disabled.objects, disabled.kept, disabled.named) = (Some(listed.objects), listed.kept, listed.named);
    Ok(disabled)
}

/// The reason, and the options if a migration is needed without a working webhook.
async fn emergency(
    cluster: &Cluster,
    crd: &CrdState,
    options: &DisableOptions,
    reason: String,
    report: &mut dyn FnMut(DisableEvent),
) -> String {
    let storage = crd.storage();
    let Some(unread) = unreadable(cluster, crd, options.page, report).await else { return reason };
    format!(
        "{reason}. The conversion webhook is unreachable now, so this cannot be checked: {unread}. No data is lost. Objects \
         stored as {storage} stay readable and writable at {storage}; the others need their server: install pointsman again, \
         in the same namespace and under the same name, and run the command again. Do not remove the conversion by hand: \
         only apiVersion of objects in another version would change, and fields would be lost. docs/uninstall.md has more \
         (The server is removed already)"
    )
}

/// The API server's error for an object that is unreadable in the storage version. Reads a single object, since lists
/// are served from memory.
async fn unreadable(
    cluster: &Cluster,
    crd: &CrdState,
    size: u32,
    report: &mut dyn FnMut(DisableEvent),
) -> Option<String> {
    let failed = |error: CallError| (error.code() == Some(500)).then(|| error.message());
    let mut waits = async |error, pause| {
        report(DisableEvent::Trying { error, pause });
        Ok::<(), CallError>(())
    };
    let pages = Pages::new(cluster, crd.collection(crd.storage()), Extent::MetadataOfAll, size);
    let list = match pages.page(None, &mut waits).await {
        Ok(list) => list,
        Err(error) => return failed(error),
    };
    for item in items(&list) {
        let text = |path: &str| item.pointer(path).and_then(Value::as_str);
        let name = text("/metadata/name").unwrap_or_default();
        let path = crd.object(crd.storage(), text("/metadata/namespace"), name);
        if let Some(unread) = cluster.read(&path, Extent::Metadata).await.err().and_then(failed) {
            return Some(unread);
        }
    }
    None
}

/// A plan with its input.
struct DisableRun<'r> {
    cluster: &'r Cluster,
    options: &'r DisableOptions,
    planned: &'r DisablePlan,
    enabled: Option<&'r ClientStanza>,
    deleted: &'r [OwnDocument],
}

impl DisableRun<'_> {
    async fn take(&self, step: &DisableStep, report: &mut dyn FnMut(DisableEvent)) -> Result<(), DisableError> {
        match step {
            DisableStep::Unserve { stays, removed } => {
                let crd = CrdState::fetch(self.cluster, &self.options.name).await?;
                rename_references(self.cluster, &crd, self.options, report).await?;
                let crd = self.change("", &|crd| Ok(serving(crd, stays))).await?;
                for version in removed {
                    self.wait_until_unserved(&crd, version).await?;
                }
                Ok(())
            }
            DisableStep::Delete { document } => self.delete(document, "").await,
            DisableStep::FinalCheck { version } => {
                let crd = CrdState::fetch(self.cluster, &self.options.name).await?;
                self.is_as_planned(&crd)?;
                translate_owners(self.cluster, &crd, self.options, report).await?;
                let crd = self.change("", &|crd| self.leading_nowhere(crd)).await?;
                report(DisableEvent::Settling(self.options.settle));
                sleep(self.options.settle).await;
                match list_all(self.cluster, &crd, version, self.options.page, report).await {
                    Ok(_) => Ok(()),
                    Err(error) => Err(self.put_back(error).await),
                }
            }
            DisableStep::RemoveConversion => self.change("", &|crd| self.removing_conversion(crd)).await.map(drop),
        }
    }

    /// Checks the permissions for all steps.
    async fn may_all(&self, crd: &CrdState) -> Result<(), DisableError> {
        let listed = match crd.readable() {
            Some(version) => {
                let path = format!("{}?limit=1", crd.collection(version));
                self.cluster.read(&path, Extent::MetadataOfAll).await.map(drop)
            }
            None => Ok(()),
        };
        listed.err().filter(CallError::is_of_missing_rights).map_or(Ok(()), Err)?;
        may_patch(self.cluster, crd).await?;
        self.try_all(&mut |_| {}).await
    }

    /// Sends the steps as dry runs. The API server evaluates each step against the stored state, so the conversion step
    /// is skipped while other versions are served.
    async fn try_all(&self, report: &mut dyn FnMut(DisableEvent)) -> Result<(), DisableError> {
        let unserves = self.planned.steps.iter().any(|step| matches!(step, DisableStep::Unserve { .. }));
        for step in &self.planned.steps {
            match step {
                DisableStep::Unserve { stays, .. } => {
                    self.change(DRY, &|crd| Ok(serving(crd, stays))).await?;
                }
                DisableStep::Delete { document } => self.delete(document, DRY).await?,
                DisableStep::RemoveConversion if !unserves => {
                    self.change(DRY, &|crd| Ok(away(crd))).await?;
                }
                DisableStep::RemoveConversion | DisableStep::FinalCheck { .. } => continue,
            }
            report(DisableEvent::Accepted(step.clone()));
        }
        Ok(())
    }

    /// Patches the current CRD, regardless of other changes.
    async fn change(
        &self,
        query: &str,
        patch: &dyn Fn(&CrdState) -> Result<Vec<Value>, DisableError>,
    ) -> Result<CrdState, DisableError> {
        for _ in 0..TRIES {
            let crd = CrdState::fetch(self.cluster, &self.options.name).await?;
            let mut patch = patch(&crd)?;
            if patch.is_empty() {
                return Ok(crd);
            }
            let seen = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": crd.resource_version()});
            patch.push(seen);
            let path = format!("{}{query}", crd.path());
            match self.cluster.patch(&path, PatchForm::Json, &Value::Array(patch), Extent::Objects).await {
                Ok(document) => return Ok(CrdState::new(document)?),
                // A conflict: another client changed the resourceVersion or removed the same member.
                Err(error) if matches!(error.code(), Some(409 | 422)) => {
                    let now = CrdState::fetch(self.cluster, &self.options.name).await?;
                    if now.resource_version() == crd.resource_version() {
                        return Err(error.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(DisableError::Stuck(format!("{} is being overwritten by another client continuously", self.options.name)))
    }

    fn leading_nowhere(&self, crd: &CrdState) -> Result<Vec<Value>, DisableError> {
        self.is_as_planned(crd)?;
        Ok(if leads_nowhere(crd) { Vec::new() } else { to_nowhere(crd) })
    }

    fn removing_conversion(&self, crd: &CrdState) -> Result<Vec<Value>, DisableError> {
        // Done earlier, without a received response.
        if !crd.is_converted() {
            return Ok(Vec::new());
        }
        self.is_as_planned(crd)?;
        match leads_nowhere(crd) {
            true => Ok(away(crd)),
            false => Err(self.changed()),
        }
    }

    /// Another version may be stored or served since the plan.
    fn is_as_planned(&self, crd: &CrdState) -> Result<(), DisableError> {
        let version = &self.planned.version;
        match plan(crd, self.enabled, Some(version), &[]) {
            Ok(now) if now.steps.first() == Some(&DisableStep::FinalCheck { version: version.clone() }) => Ok(()),
            _ => Err(self.changed()),
        }
    }

    fn changed(&self) -> DisableError {
        DisableError::Stuck(format!("{} was changed by another client in the meantime", self.options.name))
    }

    async fn delete(&self, document: &str, query: &str) -> Result<(), DisableError> {
        for one in self.deleted.iter().filter(|one| one.document == document) {
            self.cluster.delete(&format!("{}{query}", one.path)).await?;
        }
        Ok(())
    }

    /// Waits until a version is neither served nor in discovery.
    async fn wait_until_unserved(&self, crd: &CrdState, version: &str) -> Result<(), DisableError> {
        let (began, collection) = (Stopwatch::start(self.cluster), format!("{}?limit=1", crd.collection(version)));
        loop {
            let is_answered = match self.cluster.read(&collection, Extent::MetadataOfAll).await {
                Err(error) if error.code() == Some(404) => false,
                Err(error) if !error.passes() && error.code() != Some(500) => return Err(error.into()),
                Ok(_) | Err(_) => true,
            };
            if !is_answered && !self.is_discovered(crd, version).await? {
                return Ok(());
            }
            if began.elapsed() > PROPAGATED_WITHIN {
                return Err(DisableError::Stuck(format!("{version} is no longer to be served, and still is")));
            }
            sleep(OFTEN).await;
        }
    }

    /// True if discovery lists the kind in a version.
    async fn is_discovered(&self, crd: &CrdState, version: &str) -> Result<bool, CallError> {
        match self.cluster.get(&format!("/apis/{}/{version}", crd.group())).await {
            Ok(list) => {
                let mut resources = list.get("resources").and_then(Value::as_array).into_iter().flatten();
                Ok(resources.any(|one| one.get("name").and_then(Value::as_str) == Some(crd.plural())))
            }
            Err(CallError::Refused { code: 404, .. }) => Ok(false),
            Err(error) if error.passes() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Restores the earlier conversion.
    async fn put_back(&self, error: CallError) -> DisableError {
        let reason = match error.code() {
            Some(500) => format!(
                "an object is stored in another version than storedVersions lists: {}. Rewrite all objects: add \
                     its version to status.storedVersions, then run pointsman migrate {} --to {}",
                error.message(),
                self.options.name,
                self.planned.version
            ),
            _ => error.to_string(),
        };
        let back = |crd: &CrdState| match leads_nowhere(crd) {
            true => back(crd).ok_or_else(|| self.changed()),
            // Done earlier, without a received response.
            false if crd.is_converted() => Ok(Vec::new()),
            false => Err(self.changed()),
        };
        let put = self.change("", &back).await;
        let after = match put {
            Ok(_) => "the original conversion is restored".to_owned(),
            Err(error) => {
                format!("and the conversion could not be restored ({error}): restore it with pointsman enable")
            }
        };
        DisableError::Needed { reason, after }
    }

    /// Lists everything without a webhook.
    async fn verify(&self, report: &mut dyn FnMut(DisableEvent)) -> Result<ListResult, DisableError> {
        let (began, version) = (Stopwatch::start(self.cluster), &self.planned.version);
        let crd = CrdState::fetch(self.cluster, &self.options.name).await?;
        let mut translated = false;
        loop {
            match list_all(self.cluster, &crd, version, self.options.page, report).await {
                // Another program removed the conversion before this command.
                Ok(listed) if !listed.named.managed.is_empty() && !translated => {
                    translate_owners(self.cluster, &crd, self.options, report).await?;
                    translated = true;
                }
                Ok(listed) => return Ok(listed),
                // The handler is being replaced.
                Err(error) if matches!(error.code(), Some(404 | 500)) && began.elapsed() < PROPAGATED_WITHIN => {
                    sleep(OFTEN).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A JSON patch that serves only one version.
fn serving(crd: &CrdState, version: &str) -> Vec<Value> {
    let versions = crd.versions().into_iter().enumerate();
    let (served, mut patch) = (crd.served(), Vec::new());
    for (at, name) in versions.filter(|(_, name)| served.contains(name) != (*name == version)) {
        let path = format!("/spec/versions/{at}");
        patch.push(json!({"op": "test", "path": format!("{path}/name"), "value": name}));
        patch.push(json!({"op": "replace", "path": format!("{path}/served"), "value": name == version}));
    }
    patch
}

/// Controllers of the API server write the CRD's conditions, a few at most.
const TRIES: u16 = 10;

/// An API server replaces its handlers within a second, and allows five for its replicas.
const PROPAGATED_WITHIN: Duration = Duration::from_secs(20);
const OFTEN: Duration = Duration::from_millis(250);
