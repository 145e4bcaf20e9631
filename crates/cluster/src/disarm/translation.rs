//! What field managers own in a version that goes, written down in the one that stays.

use super::options::{DisarmError, DisarmEvent, DisarmOptions};
use crate::call_error::CallError;
use crate::cluster::{Cluster, DRY, Extent, PatchForm};
use crate::crd_state::CrdState;
use crate::migrate::{Aim, MigrateEvent, RewriteRun, RewrittenObjects, Speed};

/// Translates entries of managedFields that name another version than the one that stays, which is stored. It comes
/// before the conversion is led to nobody: a write of such an object by anybody would lose all entries then, and
/// server-side apply would fail for ever.
pub(super) async fn translate_owners(
    cluster: &Cluster,
    crd: &CrdState,
    options: &DisarmOptions,
    say: &mut dyn FnMut(DisarmEvent),
) -> Result<(), DisarmError> {
    let mut objects = RewrittenObjects::default();
    let mut hear = |event| {
        if let MigrateEvent::Trying { error, pause } = event {
            say(DisarmEvent::Trying { error, pause });
        }
    };
    let speed = Speed { page: options.page, at_once: AT_ONCE };
    let mut run = RewriteRun::new(cluster, crd.clone(), Aim::Owned, &speed, &mut objects, &mut hear, &|| false);
    run.conversion.clone_from(&options.conversion);
    run.rounds().await?;
    if let Some(first) = objects.failures.first() {
        let first = format!("{}: {}", first.name, first.reason);
        let (count, version) = (objects.failures.len(), crd.storage().to_owned());
        return Err(DisarmError::Owned { count, version, first });
    }
    if objects.written > 0 {
        say(DisarmEvent::Translated { objects: objects.written });
    }
    Ok(())
}

/// Whether objects may be patched, asked of one that is not there.
pub(super) async fn may_patch(cluster: &Cluster, crd: &CrdState) -> Result<(), CallError> {
    let namespace = crd.is_namespaced().then_some("default");
    let path = format!("{}{DRY}", crd.object(crd.storage(), namespace, "pointsman.no-such-object"));
    let asked = cluster.patch(&path, PatchForm::Merge, &serde_json::json!({}), Extent::Metadata).await;
    asked.err().filter(CallError::is_of_missing_rights).map_or(Ok(()), Err)
}

/// An API server allows a client of low priority about this many without queueing.
const AT_ONCE: u16 = 8;
