//! Whether an object may go for another one in its place: asked before anything is deleted.

use pointsman_core::definition::quoted_in_address;
use pointsman_core::rollout::{
    PreconditionObject, ObjectCall, ObjectWrite, ROLLOUT_MANAGER, Replacement, ReplacementObject, not_left_behind, rfc3339,
};
use serde_json::{Value, json};

use super::clock::RolloutClock;
use super::collection::{collection, named};
use super::writes::{WriteOutcome, refused, refused_alone};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::pages::items;

/// Why an object does not go yet for another one: that is gone meanwhile, or would not be let through, or what belongs
/// to the old one would go with it. Nothing where none of these is so.
///
/// # Errors
/// Whoever runs this may not ask for that.
pub(super) async fn makes_no_way(
    cluster: &Cluster,
    all: &str,
    (write, uid): (&ObjectWrite, &str),
    replacement: &Replacement,
) -> Result<Option<WriteOutcome>, CallError> {
    let successor = match replacement {
        Replacement::Successor(successor) => successor,
        Replacement::Counterpart(counterpart) => return stands_no_more(cluster, write, counterpart).await,
    };
    if let Some(no) = try_successor(cluster, all, &successor.object).await? {
        return Ok(Some(no));
    }
    match left_behind(cluster, (write, uid), successor).await {
        Ok(None) => Ok(None),
        Ok(Some(why)) => Ok(Some(WriteOutcome::NotYet(format!("{} is not deleted yet: {why}", write.title())))),
        Err(error) => refused(error).map(Some),
    }
}

/// Why an object does not go for one that was there as that was planned: that one is gone since, or is about to go, or
/// says no longer what it stands for.
async fn stands_no_more(
    cluster: &Cluster,
    write: &ObjectWrite,
    counterpart: &PreconditionObject,
) -> Result<Option<WriteOutcome>, CallError> {
    let PreconditionObject { plural, group, version, name, .. } = counterpart;
    let place = write.namespace.as_deref();
    let told = |why: String| {
        let place = place.map(|place| format!("{place}/")).unwrap_or_default();
        format!("{} is not deleted: {plural}.{group} {place}{name} {why}", write.title())
    };
    let cannot = |be: &str, why: &str| told(format!("cannot be {be}: {why}"));
    let failed = |be: &str, error: CallError| {
        Ok(Some(match refused_alone(error)? {
            WriteOutcome::Refused(why) => WriteOutcome::Refused(cannot(be, &why)),
            other => other,
        }))
    };
    let found = async {
        let all = collection(cluster, (plural, group), Some(version), place).await?;
        let one = format!("{all}/{name}");
        Ok::<_, CallError>((named(cluster, &one).await?, one))
    };
    let (found, one) = match found.await {
        Ok(found) => found,
        Err(error) => return failed("read", error),
    };
    if let Some(why) = counterpart.missing(found.as_ref()) {
        return Ok(Some(WriteOutcome::NotYet(told(why))));
    }
    let ObjectCall::Delete { resource_version, .. } = &write.call else { return Ok(None) };
    let Some(patch) = counterpart.stays(found.as_ref(), resource_version) else { return Ok(None) };
    let path = format!("{one}?fieldManager={ROLLOUT_MANAGER}");
    match cluster.patch(&path, PatchForm::Json, &patch, Extent::Metadata).await {
        Ok(written) => Ok(match counterpart.missing(Some(&written)) {
            Some(why) => Some(WriteOutcome::NotYet(told(why))),
            None => PreconditionObject::unwritten(&written, resource_version).map(told).map(WriteOutcome::Refused),
        }),
        // It is another one by now, or none.
        Err(error) if matches!(error.code(), Some(404 | 409 | 422)) => {
            Ok(Some(WriteOutcome::NotYet(cannot("written", &error.message()))))
        }
        Err(error) => failed("written", error),
    }
}

/// Why what belongs to an object would not be left behind now.
async fn left_behind(
    cluster: &Cluster,
    (write, uid): (&ObjectWrite, &str),
    successor: &ReplacementObject,
) -> Result<Option<String>, CallError> {
    let (plural, group) = &successor.owned;
    let owned = collection(cluster, (plural, group), None, write.namespace.as_deref()).await?;
    // From what is stored, and not from a cache.
    let path = format!("{owned}?labelSelector={}", quoted_in_address(&successor.labels));
    let found = cluster.read(&path, Extent::MetadataOfAll).await?;
    if items(&found).next().is_none() {
        return Ok(None);
    }
    Ok(not_left_behind(items(&found), uid, &now(cluster).await?))
}

/// What time it is, by the clock that an API server writes into objects: that tells best how old these are. Where
/// nobody may ask for it, the time here.
/// Source: `kubernetes pkg/registry/authentication/selfsubjectreview/rest.go`, `Create`.
async fn now(cluster: &Cluster) -> Result<String, CallError> {
    const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let told = match cluster.try_create(REVIEWS, &review).await {
        Ok(answer) => answer.pointer("/metadata/creationTimestamp").and_then(Value::as_str).map(str::to_owned),
        Err(error) if matches!(error.code(), Some(403 | 404)) => None,
        Err(error) => return Err(error),
    };
    Ok(told.unwrap_or_else(|| rfc3339(RolloutClock::start().now().wall)))
}

/// Asks, by a dry run, whether an object would be let through whose name another one still has. Nothing where it would.
///
/// An API server validates an object, and has all who admit it judge it, before it looks whether there is one of that
/// name: "already exists" is a yes.
/// Source: `k8s.io/apiserver/pkg/registry/generic/registry/store.go`, `Store.create`.
///
/// # Errors
/// Whoever runs this may not make such objects.
pub(super) async fn try_successor(
    cluster: &Cluster,
    collection: &str,
    successor: &Value,
) -> Result<Option<WriteOutcome>, CallError> {
    let path = format!("{collection}?dryRun=All&fieldManager={ROLLOUT_MANAGER}");
    let Err(error) = cluster.post(&path, successor).await else { return Ok(None) };
    let message = error.message();
    match error.code() {
        Some(409) if message.contains("already exists") => Ok(None),
        Some(403) if has_room_once_the_old_one_is_gone(&message) => Ok(None),
        // Its namespace is not there, or its resource.
        Some(404) => Ok(Some(WriteOutcome::Refused(nothing_deleted(&message)))),
        _ => Ok(Some(match refused(error)? {
            WriteOutcome::Refused(why) => WriteOutcome::Refused(nothing_deleted(&why)),
            other => other,
        })),
    }
}

fn nothing_deleted(why: &str) -> String {
    format!("what is to be made in its place is refused, so that nothing was deleted: {why}")
}

/// Whether a quota says no that counts the old one as well, and is not over its limit by more than that.
/// Source: `kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go`, `checkRequest`.
fn has_room_once_the_old_one_is_gone(message: &str) -> bool {
    let Some((_, rest)) = message.split_once("exceeded quota: ") else { return false };
    let part = |name: &str| {
        let (_, rest) = rest.split_once(name)?;
        let (what, number) = rest.split(", ").next()?.split_once('=')?;
        (what == COUNTED && !rest.split(", ").next()?.contains(',')).then(|| number.parse::<u64>().ok())?
    };
    match (part("requested: "), part("used: "), part("limited: ")) {
        (Some(1), Some(used), Some(limited)) => used <= limited,
        _ => false,
    }
}

/// What quotas call Deployments.
const COUNTED: &str = "count/deployments.apps";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_pods_free_their_quota() {
        let says = |requested: &str, used: &str, limited: &str| {
            format!(
                "deployments.apps \"a\" is forbidden: exceeded quota: q, requested: {requested}, used: {used}, limited: \
                 {limited}"
            )
        };
        let (one, three) = ("count/deployments.apps=1", "count/deployments.apps=3");
        assert!(has_room_once_the_old_one_is_gone(&says(one, three, three)));
        assert!(!has_room_once_the_old_one_is_gone(&says(one, three, one)), "it is over its limit");
        assert!(!has_room_once_the_old_one_is_gone(&says("pods=1", "pods=3", "pods=3")));
        let both = "count/deployments.apps=1,pods=1";
        assert!(!has_room_once_the_old_one_is_gone(&says(both, both, both)));
        assert!(!has_room_once_the_old_one_is_gone("deployments.apps \"a\" is forbidden: no"));
    }
}
