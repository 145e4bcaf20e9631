//! Translates field ownership from a version to be removed to the remaining one.

use super::options::{DisableError, DisableEvent, DisableOptions};
use crate::call_error::CallError;
use crate::cluster::{Cluster, DRY, Extent, PatchForm};
use crate::crd_state::CrdState;
use crate::migrate::{MigrateEvent, MigrationTarget, RewriteRun, RewrittenObjects, Speed};

/// Translates managedFields entries of other versions to the remaining storage version. Runs before the conversion
/// becomes unreachable: otherwise any write of such an object would lose all entries, and server-side apply would fail
/// forever.
pub(super) async fn translate_owners(
    cluster: &Cluster,
    crd: &CrdState,
    options: &DisableOptions,
    report: &mut dyn FnMut(DisableEvent),
) -> Result<(), DisableError> {
    let written = rewrite(cluster, crd, (MigrationTarget::Owned, options), report).await?;
    if written > 0 {
        report(DisableEvent::Translated { objects: written });
    }
    Ok(())
}

/// Changes owner references at other versions to the remaining one. Runs before versions are no longer served: the
/// garbage collector would query the owner at such a version, receive 404 and delete the object.
pub(super) async fn rename_references(
    cluster: &Cluster,
    crd: &CrdState,
    options: &DisableOptions,
    report: &mut dyn FnMut(DisableEvent),
) -> Result<(), DisableError> {
    let written = rewrite(cluster, crd, (MigrationTarget::Referred, options), report).await?;
    if written > 0 {
        report(DisableEvent::Renamed { objects: written });
    }
    Ok(())
}

/// Writes the objects of a migration target. Returns their number.
async fn rewrite(
    cluster: &Cluster,
    crd: &CrdState,
    (aim, options): (MigrationTarget<'_>, &DisableOptions),
    report: &mut dyn FnMut(DisableEvent),
) -> Result<u64, DisableError> {
    let mut objects = RewrittenObjects::default();
    let mut on_event = |event| {
        if let MigrateEvent::Trying { error, pause } = event {
            report(DisableEvent::Trying { error, pause });
        }
    };
    let speed = Speed { page: options.page, max_in_flight: MAX_IN_FLIGHT };
    let mut run = RewriteRun::new(cluster, crd.clone(), aim, &speed, &mut objects, &mut on_event, &|| false);
    run.conversion.clone_from(&options.conversion);
    run.rounds().await?;
    if let Some(first) = objects.failures.first() {
        let first = format!("{}: {}", first.name, first.reason);
        let (count, version) = (objects.failures.len(), crd.storage().to_owned());
        return Err(DisableError::Owned { count, version, first });
    }
    Ok(objects.written)
}

/// Checks the permission to patch objects, with a nonexistent one.
pub(super) async fn may_patch(cluster: &Cluster, crd: &CrdState) -> Result<(), CallError> {
    let namespace = crd.is_namespaced().then_some("default");
    let path = format!("{}{DRY}", crd.object(crd.storage(), namespace, "pointsman.no-such-object"));
    let dry_run = cluster.patch(&path, PatchForm::Merge, &serde_json::json!({}), Extent::Metadata).await;
    dry_run.err().filter(CallError::is_of_missing_rights).map_or(Ok(()), Err)
}

/// An API server allows a client of low priority about this many requests without queueing.
const MAX_IN_FLIGHT: u16 = 8;
