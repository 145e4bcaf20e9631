//! A migration from the first read of the CRD to `storedVersions`.

use pointsman_core::did_you_mean;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::mark::{ANNOTATION, Mark, unmark};
use super::old_policies::delete_old_policies;
use super::options::{MigrateError, MigrateEvent, MigrateOptions, Migrated};
use super::pass::{RewriteRun, Speed};
use super::retry::patiently;
use super::storage_version_migration::delegated;
use super::target::MigrationTarget;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::crd_state::CrdState;
use crate::pages::{Pages, behind, items};
use crate::retry_budget::RetryBudget;
use crate::stop_signal::until_stopped;
use crate::superset::is_superset_of;

/// Writes every object of a CRD that is stored in another version than the storage version, and updates
/// `status.storedVersions` of the CRD. Afterwards the other versions may be removed. `name` is `plural.group`; `stop`
/// returns true to end early.
///
/// The process can be killed at any time and run again: written objects are skipped, and a complete migration costs one
/// GET. `storedVersions` changes only after another complete list without old objects, and only if the CRD spec is
/// unchanged.
///
/// # Errors
/// [`MigrateError`]. Objects that could not be written are no error: they are in [`Migrated::objects`], and
/// `storedVersions` stays unchanged.
pub async fn migrate(
    cluster: &Cluster,
    name: &str,
    options: &MigrateOptions,
    report: &mut dyn FnMut(MigrateEvent),
    stop: &dyn Fn() -> bool,
) -> Result<Migrated, MigrateError> {
    let mut migrated = Migrated { crd: name.to_owned(), ..Migrated::default() };
    match until_stopped(stop, steps(cluster, options, report, stop, &mut migrated)).await {
        Some(ended) => ended?,
        None => migrated.objects.interrupted = true,
    }
    Ok(migrated)
}

async fn steps(
    cluster: &Cluster,
    options: &MigrateOptions,
    report: &mut dyn FnMut(MigrateEvent),
    stop: &dyn Fn() -> bool,
    migrated: &mut Migrated,
) -> Result<(), MigrateError> {
    let name = migrated.crd.clone();
    let mut crd = CrdState::fetch(cluster, &name).await?;
    let to = options.to.clone().unwrap_or_else(|| crd.storage().to_owned());
    check(&crd, &to)?;
    migrated.stored_before = stored(&crd);
    (migrated.storage, migrated.stored) = (to.clone(), migrated.stored_before.clone());
    // With the annotation of an earlier run, the migration is incomplete even if `storedVersions` disagrees: other
    // clients write that list too.
    let is_marked = crd.annotation(ANNOTATION).is_some() && crd.is_converted();
    let through = crd.storage() == to && migrated.is_complete() && !is_marked;
    if options.dry_run {
        migrated.objects.left = if through { None } else { Some(count(&first_of(cluster, &crd, &to, report).await?)) };
        return Ok(());
    }
    if through {
        delete_old_policies(cluster, &crd, report).await;
        return forget(cluster, &crd, report).await;
    }
    if crd.storage() != to {
        crd = flip(cluster, crd, &to, options, report).await?;
    }
    let (crd, mark) = marked(cluster, crd, options, report).await?;
    // Every API server uses the new storage version now.
    delete_old_policies(cluster, &crd, report).await;
    let was_delegated = delegated(cluster, &crd, options.means, report).await?;
    let speed = Speed { page: options.page, max_in_flight: options.max_in_flight };
    let mut run =
        RewriteRun::new(cluster, crd, MigrationTarget::stored(mark), &speed, &mut migrated.objects, report, stop);
    run.conversion.clone_from(&options.conversion);
    let ended = run.rounds().await;
    let (is_done, began) = (ended.is_ok() && !run.objects.interrupted && run.objects.failures.is_empty(), run.crd);
    // The first error is returned; versions that another client removed from the list are restored in either case.
    let stored = match (is_done, was_delegated) {
        (true, _) => trim(cluster, &began, report).await,
        (false, true) => untrim(cluster, &began, &migrated.stored_before, report).await,
        (false, false) => Ok(stored(&CrdState::fetch(cluster, &name).await?)),
    };
    ended?;
    migrated.stored = stored?;
    Ok(())
}

fn stored(crd: &CrdState) -> Vec<String> {
    crd.stored_versions().into_iter().map(str::to_owned).collect()
}

/// Checks that objects can be read, converted and written in this version.
fn check(crd: &CrdState, to: &str) -> Result<(), MigrateError> {
    let (name, known) = (crd.name(), crd.versions());
    if !known.contains(&to) {
        let meant = did_you_mean(to, known.iter().copied());
        return Err(MigrateError::NoVersion { crd: name, version: to.to_owned(), known: known.join(", ") + &meant });
    }
    if !crd.served().contains(&to) {
        return Err(MigrateError::NotServed { crd: name, version: to.to_owned() });
    }
    let stored = crd.stored_versions();
    let others = stored.iter().any(|stored| *stored != to);
    let is_same = || crd.has_one_schema(&[stored.as_slice(), &[to]].concat());
    if others && !crd.is_converted() && !is_same() {
        return Err(MigrateError::NotConverted { crd: name, stored: crd.stored_versions().join(", ") });
    }
    Ok(())
}

/// The number of objects, from one page.
fn count(list: &Value) -> u64 {
    items(list).count() as u64 + behind(list).unwrap_or_default()
}

/// Changes the storage version, after applying its policy. Retries after a concurrent change of the CRD.
async fn flip(
    cluster: &Cluster,
    mut crd: CrdState,
    to: &str,
    options: &MigrateOptions,
    report: &mut dyn FnMut(MigrateEvent),
) -> Result<CrdState, MigrateError> {
    for document in &options.before {
        guarded(cluster, document, report).await?;
    }
    for _ in 0..TRIES {
        let from = crd.storage().to_owned();
        let patch = flipped(&crd, to);
        let flip = async || cluster.patch(&crd.path(), PatchForm::Json, &patch, Extent::Objects).await;
        match patiently(report, flip).await {
            Ok(changed) => {
                report(MigrateEvent::Flipped { from, to: to.to_owned() });
                return Ok(CrdState::new(changed)?);
            }
            // A precondition failed.
            Err(error) if matches!(error.code(), Some(409 | 422)) => {}
            Err(error) => return Err(error.into()),
        }
        crd = patiently(report, async || CrdState::fetch(cluster, &crd.name()).await).await?;
        check(&crd, to)?;
        if crd.storage() == to {
            return Ok(crd);
        }
    }
    Err(MigrateError::Changed { crd: crd.name() })
}

/// Applies a policy. An equal policy of another field manager is accepted: server-side apply reports a conflict there,
/// because of defaulted fields.
async fn guarded(
    cluster: &Cluster,
    document: &Value,
    report: &mut dyn FnMut(MigrateEvent),
) -> Result<(), MigrateError> {
    let Err(error) = patiently(report, async || cluster.apply(document, false).await).await else { return Ok(()) };
    if error.conflicts().is_empty() {
        return Err(error.into());
    }
    let path = cluster.document_path(document).await?;
    let there = patiently(report, async || cluster.get(&path).await).await?;
    if is_superset_of(&there, document) { Ok(()) } else { Err(MigrateError::of_policy(error, document)) }
}

/// The patch that changes the storage version, with preconditions on the versions and the conversion strategy.
fn flipped(crd: &CrdState, to: &str) -> Value {
    let mut patch = Vec::new();
    if crd.is_converted() {
        patch.push(json!({"op": "test", "path": "/spec/conversion/strategy", "value": "Webhook"}));
    }
    for (version, stored) in [(crd.storage(), false), (to, true)] {
        if let Some(at) = crd.position(version) {
            let path = format!("/spec/versions/{at}");
            patch.push(json!({"op": "test", "path": format!("{path}/name"), "value": version}));
            patch.push(json!({"op": "test", "path": format!("{path}/storage"), "value": !stored}));
            patch.push(json!({"op": "replace", "path": format!("{path}/storage"), "value": stored}));
        }
    }
    Value::Array(patch)
}

/// The resourceVersion since which all clients write the storage version: from an earlier run, or as of now.
async fn marked(
    cluster: &Cluster,
    crd: CrdState,
    options: &MigrateOptions,
    report: &mut dyn FnMut(MigrateEvent),
) -> Result<(CrdState, Option<Mark>), MigrateError> {
    if let Some(mark) = Mark::of(&crd) {
        report(MigrateEvent::Resumed);
        return Ok((crd, Some(mark)));
    }
    if !options.settle.is_zero() {
        report(MigrateEvent::Settling(options.settle));
        sleep(options.settle).await;
    }
    let list = first_of(cluster, &crd, crd.storage(), report).await?;
    let since = list.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let Some(mark) = Mark::new(&crd, since) else {
        return Ok((crd, None));
    };
    let patch = mark.patch();
    let leave = async || cluster.patch(&crd.path(), PatchForm::Merge, &patch, Extent::Objects).await;
    let crd = CrdState::new(patiently(report, leave).await?)?;
    // If the spec changed during the wait, the annotation is invalid, and everything is written.
    let mark = Mark::of(&crd);
    Ok((crd, mark))
}

/// The beginning of a list in a version, with retries during outages of webhooks and the API server.
async fn first_of(
    cluster: &Cluster,
    crd: &CrdState,
    version: &str,
    report: &mut dyn FnMut(MigrateEvent),
) -> Result<Value, MigrateError> {
    let pages = Pages::new(cluster, crd.collection(version), Extent::MetadataOfAll, 1);
    let mut waits = async |error, pause| {
        report(MigrateEvent::Trying { error, pause });
        Ok(())
    };
    pages.with_patience(&RetryBudget::default()).page(None, &mut waits).await
}

/// Removes the other versions from `storedVersions`, if the CRD is unchanged.
async fn trim(
    cluster: &Cluster,
    began: &CrdState,
    report: &mut dyn FnMut(MigrateEvent),
) -> Result<Vec<String>, MigrateError> {
    let (crd, stored) = set_stored(cluster, began, &|crd| vec![crd.storage().to_owned()], report).await?;
    forget(cluster, &crd, report).await?;
    Ok(stored)
}

/// Restores versions that were removed from `storedVersions` before everything was written.
async fn untrim(
    cluster: &Cluster,
    began: &CrdState,
    before: &[String],
    report: &mut dyn FnMut(MigrateEvent),
) -> Result<Vec<String>, MigrateError> {
    let all = |crd: &CrdState| {
        let known = crd.versions();
        let lost = before.iter().filter(|one| known.contains(&one.as_str()) && !stored(crd).contains(one));
        lost.cloned().chain(stored(crd)).collect()
    };
    Ok(set_stored(cluster, began, &all, report).await?.1)
}

/// Sets `storedVersions`, if the CRD is unchanged. Returns the CRD as read, and the list.
async fn set_stored(
    cluster: &Cluster,
    began: &CrdState,
    versions: &dyn Fn(&CrdState) -> Vec<String>,
    report: &mut dyn FnMut(MigrateEvent),
) -> Result<(CrdState, Vec<String>), MigrateError> {
    let name = began.name();
    for _ in 0..TRIES {
        let crd = patiently(report, async || CrdState::fetch(cluster, &name).await).await?;
        if (crd.uid(), crd.generation()) != (began.uid(), began.generation()) {
            return Err(MigrateError::Changed { crd: name });
        }
        let stored = versions(&crd);
        let metadata = json!({"resourceVersion": crd.resource_version()});
        let patch = json!({"metadata": metadata, "status": {"storedVersions": stored}});
        let path = format!("{}/status", crd.path());
        let set = async || cluster.patch(&path, PatchForm::Merge, &patch, Extent::Metadata).await;
        match patiently(report, set).await {
            Ok(_) => return Ok((crd, stored)),
            // A concurrent write of a condition.
            Err(CallError::Refused { code: 409, .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(MigrateError::Changed { crd: name })
}

/// Removes the progress annotation.
async fn forget(cluster: &Cluster, crd: &CrdState, report: &mut dyn FnMut(MigrateEvent)) -> Result<(), MigrateError> {
    if crd.annotation(ANNOTATION).is_some() {
        let take = async || cluster.patch(&crd.path(), PatchForm::Merge, &unmark(), Extent::Metadata).await;
        patiently(report, take).await?;
    }
    Ok(())
}

/// Controllers of the API server write the CRD's conditions, a few at most.
const TRIES: u16 = 10;
