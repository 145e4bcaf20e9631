//! Checks before an object is deleted for a replacement.

use pointsman_rollout::{
    ObjectCall, ObjectWrite, PreconditionObject, ROLLOUT_MANAGER, Replacement, ReplacementObject, not_left_behind,
    quoted_in_address, rfc3339,
};
use serde_json::{Value, json};

use super::clock::RolloutClock;
use super::collection::{collection, named};
use super::writes::{WriteOutcome, refused, refused_alone};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::pages::items;

/// The reason to delay the deletion: the replacement is missing or would be refused, or dependents would be deleted
/// too. `None` if the deletion is safe.
///
/// # Errors
/// Missing permissions.
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

/// The reason to delay a deletion in favour of an existing object: that object is missing, terminating or not
/// annotated.
async fn stands_no_more(
    cluster: &Cluster,
    write: &ObjectWrite,
    counterpart: &PreconditionObject,
) -> Result<Option<WriteOutcome>, CallError> {
    let PreconditionObject { plural, group, version, name, .. } = counterpart;
    let place = write.namespace.as_deref();
    let message = |why: String| {
        let place = place.map(|place| format!("{place}/")).unwrap_or_default();
        format!("{} is not deleted: {plural}.{group} {place}{name} {why}", write.title())
    };
    let cannot = |be: &str, why: &str| message(format!("cannot be {be}: {why}"));
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
        return Ok(Some(WriteOutcome::NotYet(message(why))));
    }
    let ObjectCall::Delete { resource_version, .. } = &write.call else { return Ok(None) };
    let Some(patch) = counterpart.stays(found.as_ref(), resource_version) else { return Ok(None) };
    let path = format!("{one}?fieldManager={ROLLOUT_MANAGER}");
    match cluster.patch(&path, PatchForm::Json, &patch, Extent::Metadata).await {
        Ok(written) => Ok(match counterpart.missing(Some(&written)) {
            Some(why) => Some(WriteOutcome::NotYet(message(why))),
            None => PreconditionObject::unwritten(&written, resource_version).map(message).map(WriteOutcome::Refused),
        }),
        // It was replaced or deleted.
        Err(error) if matches!(error.code(), Some(404 | 409 | 422)) => {
            Ok(Some(WriteOutcome::NotYet(cannot("written", &error.message()))))
        }
        Err(error) => failed("written", error),
    }
}

/// The reason why dependents would not remain now.
async fn left_behind(
    cluster: &Cluster,
    (write, uid): (&ObjectWrite, &str),
    successor: &ReplacementObject,
) -> Result<Option<String>, CallError> {
    let (plural, group) = &successor.owned;
    let owned = collection(cluster, (plural, group), None, write.namespace.as_deref()).await?;
    // Read from etcd, not from a cache.
    let path = format!("{owned}?labelSelector={}", quoted_in_address(&successor.labels));
    let found = cluster.read(&path, Extent::MetadataOfAll).await?;
    if items(&found).next().is_none() {
        return Ok(None);
    }
    Ok(not_left_behind(items(&found), uid, &now(cluster).await?))
}

/// The time of the API server, on the clock that also sets timestamps in objects. Without permission, the local time.
/// Source: `kubernetes pkg/registry/authentication/selfsubjectreview/rest.go`, `Create`.
async fn now(cluster: &Cluster) -> Result<String, CallError> {
    const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let message = match cluster.try_create(REVIEWS, &review).await {
        Ok(answer) => answer.pointer("/metadata/creationTimestamp").and_then(Value::as_str).map(str::to_owned),
        Err(error) if matches!(error.code(), Some(403 | 404)) => None,
        Err(error) => return Err(error),
    };
    Ok(message.unwrap_or_else(|| rfc3339(RolloutClock::start().now().wall)))
}

/// Checks with a dry run whether an object would be accepted under a name that is still in use. `None` if so.
///
/// The API server runs validation and admission before it checks the name, so "already exists" means acceptance.
/// Source: `k8s.io/apiserver/pkg/registry/generic/registry/store.go`, `Store.create`.
///
/// # Errors
/// Missing permissions.
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
        Some(403) if fits_after_deletion(&message) => Ok(None),
        // Its namespace or resource does not exist.
        Some(404) => Ok(Some(WriteOutcome::Refused(nothing_deleted(&message)))),
        _ => Ok(Some(match refused(error)? {
            WriteOutcome::Refused(why) => WriteOutcome::Refused(nothing_deleted(&why)),
            other => other,
        })),
    }
}

fn nothing_deleted(why: &str) -> String {
    format!("the replacement is refused, so the old object was not deleted: {why}")
}

/// True for a quota error that disappears with the deletion of the old object. Source: `kubernetes
/// staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go`, `checkRequest`.
fn fits_after_deletion(message: &str) -> bool {
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

/// The quota resource of Deployments.
const COUNTED: &str = "count/deployments.apps";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_pods_free_their_quota() {
        let quota_error = |requested: &str, used: &str, limited: &str| {
            format!(
                "deployments.apps \"a\" is forbidden: exceeded quota: q, requested: {requested}, used: {used}, limited: \
                 {limited}"
            )
        };
        let (one, three) = ("count/deployments.apps=1", "count/deployments.apps=3");
        assert!(fits_after_deletion(&quota_error(one, three, three)));
        assert!(!fits_after_deletion(&quota_error(one, three, one)), "it is over its limit");
        assert!(!fits_after_deletion(&quota_error("pods=1", "pods=3", "pods=3")));
        let both = "count/deployments.apps=1,pods=1";
        assert!(!fits_after_deletion(&quota_error(both, both, both)));
        assert!(!fits_after_deletion("deployments.apps \"a\" is forbidden: no"));
    }
}
