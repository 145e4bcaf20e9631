//! Outcomes of object writes.

use std::collections::BTreeMap;

use pointsman_rollout::{JobWrite, ObjectPatch, Propagation, ROLLOUT_MANAGER, RolloutWrite};
use serde_json::{Value, json};

use super::fleet::Fleet;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};

/// The outcome of a write.
#[derive(Debug)]
pub(super) enum WriteOutcome {
    /// Written, or accepted as dry run; contains the object, whole if written.
    Written(Box<Value>),
    /// The object changed or is deleted: it must be read again.
    Stale,
    /// Refused by the API server or a webhook, with its message.
    Refused(String),
    /// Written without the intended effect yet: must be repeated, with the reason.
    NotYet(String),
    /// Failed temporarily.
    Later(CallError),
}

/// Whether a write is a dry run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WriteMode {
    /// Write.
    Write,
    /// Dry run: webhooks run, and the object is not stored.
    Try,
}

/// Orders the writes of a plan: the status first, and recently failed writes last, so that no write waits endlessly for
/// failing ones. `behind` contains the order of failures, by uid. Otherwise the order is stable.
pub(super) fn in_turn(mut writes: Vec<RolloutWrite>, behind: &BTreeMap<String, usize>) -> Vec<RolloutWrite> {
    writes.sort_by_key(|write| write.uid().and_then(|uid| behind.get(uid)).copied().unwrap_or_default());
    writes
}

/// Writes an object.
///
/// # Errors
/// Missing permissions.
pub(super) async fn write(
    cluster: &Cluster,
    fleet: &Fleet,
    write: &ObjectPatch,
    really: WriteMode,
) -> Result<WriteOutcome, CallError> {
    let path = fleet.path(write.namespace.as_deref(), &write.name);
    // The response replaces a read.
    let (dry, extent) = match really {
        WriteMode::Try => ("&dryRun=All", Extent::Metadata),
        WriteMode::Write => ("", Extent::Objects),
    };
    let path = format!("{path}?fieldManager={ROLLOUT_MANAGER}{dry}");
    match cluster.patch(&path, PatchForm::Json, &write.patch, extent).await {
        Ok(now) => Ok(WriteOutcome::Written(Box::new(now))),
        Err(error) => refused(error),
    }
}

/// The obstacle to a write, from a dry run: a refusal, or an annotation that would not be stored. `None` if the write
/// is accepted, and if a webhook does not support dry runs: then the write itself shows the result.
///
/// # Errors
/// Missing permissions.
pub(super) async fn try_write(
    cluster: &Cluster,
    fleet: &Fleet,
    one: &ObjectPatch,
) -> Result<Option<WriteOutcome>, CallError> {
    Ok(match write(cluster, fleet, one, WriteMode::Try).await? {
        WriteOutcome::Written(now) => one.unkept(&now).map(WriteOutcome::Refused),
        WriteOutcome::Refused(why) if is_of_no_dry_run(&why) => None,
        no => Some(no),
    })
}

/// True for the error of a webhook without dry run support. Source: `apiserver
/// pkg/admission/plugin/webhook/errors/statuserror.go`, `NewDryRunUnsupportedErr`.
pub(super) fn is_of_no_dry_run(why: &str) -> bool {
    why.contains("does not support dry run")
}

/// Creates a Job of a step. An existing Job of that name is the intended one.
///
/// # Errors
/// Missing permissions.
pub(super) async fn run_job(cluster: &Cluster, job: &JobWrite) -> Result<WriteOutcome, CallError> {
    let path = format!("{}?fieldManager={ROLLOUT_MANAGER}", jobs_of(job));
    match cluster.post(&path, &job.body).await {
        Ok(now) => Ok(WriteOutcome::Written(Box::new(now))),
        Err(error) if error.code() == Some(409) && error.message().contains("already exists") => {
            Ok(WriteOutcome::Stale)
        }
        // The namespace does not exist.
        Err(error) if error.code() == Some(404) => Ok(WriteOutcome::Refused(error.message())),
        Err(error) => refused(error),
    }
}

/// The collection of a Job.
pub(super) fn jobs_of(job: &JobWrite) -> String {
    format!("/apis/batch/v1/namespaces/{}/jobs", job.namespace)
}

/// Delete options with preconditions: uid, and resourceVersion if given.
pub(super) fn delete_options(uid: &str, resource_version: Option<&str>, propagation: Propagation) -> Value {
    json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation.word(),
        "preconditions": {"uid": uid, "resourceVersion": resource_version},
    })
}

/// The outcome of a failed write.
pub(super) fn refused(error: CallError) -> Result<WriteOutcome, CallError> {
    match error.code() {
        // The wording of RBAC: an admission webhook may return 403 too.
        Some(401) => Err(error),
        Some(403) if error.is_of_missing_rights() => Err(error),
        Some(404) => Ok(WriteOutcome::Stale),
        _ if error.is_stale() => Ok(WriteOutcome::Stale),
        // Unacknowledged: it may still take effect.
        _ if error.leaves_open() => Ok(WriteOutcome::Later(error)),
        Some(400..=499) if !error.passes() && error.code() != Some(409) => {
            Ok(WriteOutcome::Refused(guarded(error.message())))
        }
        _ => Ok(WriteOutcome::Later(error)),
    }
}

/// The same for an independent write: a permanent server error, such as an oversized object, is reported for that
/// object and blocks no other.
pub(super) fn refused_alone(error: CallError) -> Result<WriteOutcome, CallError> {
    match error.code() {
        Some(500..) if !error.passes() && !error.leaves_open() => Ok(WriteOutcome::Refused(error.message())),
        _ => refused(error),
    }
}

/// Adds a remedy to permission errors of guarded owner references. Source: `kubernetes
/// plugin/pkg/admission/gc/gc_admission.go`, `Validate`.
fn guarded(message: String) -> String {
    let takes = if message.contains("cannot set an ownerRef on a resource you can't delete") {
        "`delete` of a transferred dependent"
    } else if message.contains("a resource you can't set finalizers on") {
        "`update` of `finalizers` of its owners"
    } else {
        return message;
    };
    format!("{message}: this needs {takes}; pointsman rollout rights --guarded-owners prints the role")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_objects_retry_last() {
        let write = |uid: &str, name: &str| {
            let (uid, name) = (uid.to_owned(), name.to_owned());
            RolloutWrite::Move(ObjectPatch { namespace: None, name, uid, patch: Value::Null })
        };
        let status = RolloutWrite::Status(Box::default());
        let all = vec![status, write("a", "1"), write("b", "2"), write("c", "3"), write("a", "4"), write("d", "5")];
        let behind = BTreeMap::from([("a", 2), ("b", 1)].map(|(uid, at)| (uid.to_owned(), at)));
        let names = |writes: Vec<RolloutWrite>| -> String {
            let name = |write: &RolloutWrite| match write {
                RolloutWrite::Move(one) => one.name.clone(),
                _ => "status ".to_owned(),
            };
            writes.iter().map(name).collect()
        };
        assert_eq!(names(in_turn(all.clone(), &behind)), "status 35214");
        assert_eq!(names(in_turn(all, &BTreeMap::new())), "status 12345");
    }
}
