//! What came of the write of one object.

use std::collections::BTreeMap;

use pointsman_core::rollout::{ObjectPatch, JobWrite, Propagation, ROLLOUT_MANAGER, RolloutWrite};
use serde_json::{Value, json};

use super::fleet::Fleet;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};

/// What came of a write.
#[derive(Debug)]
pub(super) enum WriteOutcome {
    /// It is written, or would be: the object as it is then, all of it where it is written.
    Written(Box<Value>),
    /// The object is another one by now, or gone: what is there has to be looked at again.
    Stale,
    /// The API server, or a webhook, refuses it: in its words.
    Refused(String),
    /// It is written, or was to be, and what it is for is not so yet: it has to be written once more, and why.
    NotYet(String),
    /// It may succeed in a moment.
    Later(CallError),
}

/// Whether a write is only tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WriteMode {
    /// It is written.
    Write,
    /// As a dry run: every webhook is asked, and nothing is stored.
    Try,
}

/// The writes of a plan, those last that failed last before: nobody waits for ever behind one whose writes fail.
/// `behind` says as the how many-th they failed, by uid. The rest stays in its order, and the status before all
/// others.
pub(super) fn in_turn(mut writes: Vec<RolloutWrite>, behind: &BTreeMap<String, usize>) -> Vec<RolloutWrite> {
    writes.sort_by_key(|write| write.uid().and_then(|uid| behind.get(uid)).copied().unwrap_or_default());
    writes
}

/// Writes an object.
///
/// # Errors
/// Whoever runs this may not do so.
pub(super) async fn write(
    cluster: &Cluster,
    fleet: &Fleet,
    write: &ObjectPatch,
    really: WriteMode,
) -> Result<WriteOutcome, CallError> {
    let path = fleet.path(write.namespace.as_deref(), &write.name);
    // What is written is not read again.
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

/// What stands against a write, by a dry run: who refuses it, or that nobody would know what was done, as its mark
/// would not be kept. Nothing where it would be written, and where a webhook knows no dry runs: then it is known once
/// it is written.
///
/// # Errors
/// Whoever runs this may not do so.
pub(super) async fn try_write(cluster: &Cluster, fleet: &Fleet, one: &ObjectPatch) -> Result<Option<WriteOutcome>, CallError> {
    Ok(match write(cluster, fleet, one, WriteMode::Try).await? {
        WriteOutcome::Written(now) => one.unkept(&now).map(WriteOutcome::Refused),
        WriteOutcome::Refused(why) if is_of_no_dry_run(&why) => None,
        no => Some(no),
    })
}

/// Whether a webhook refuses dry runs, and nothing else.
/// Source: `apiserver pkg/admission/plugin/webhook/errors/statuserror.go`, `NewDryRunUnsupportedErr`.
pub(super) fn is_of_no_dry_run(why: &str) -> bool {
    why.contains("does not support dry run")
}

/// Makes a Job of a step. One that is called so is the one that was meant: nobody else's is.
///
/// # Errors
/// Whoever runs this may not do so.
pub(super) async fn run_job(cluster: &Cluster, job: &JobWrite) -> Result<WriteOutcome, CallError> {
    let path = format!("{}?fieldManager={ROLLOUT_MANAGER}", jobs_of(job));
    match cluster.post(&path, &job.body).await {
        Ok(now) => Ok(WriteOutcome::Written(Box::new(now))),
        Err(error) if error.code() == Some(409) && error.message().contains("already exists") => Ok(WriteOutcome::Stale),
        // A namespace that is not there.
        Err(error) if error.code() == Some(404) => Ok(WriteOutcome::Refused(error.message())),
        Err(error) => refused(error),
    }
}

/// Where a Job is made.
pub(super) fn jobs_of(job: &JobWrite) -> String {
    format!("/apis/batch/v1/namespaces/{}/jobs", job.namespace)
}

/// How to delete an object, and no other one: as it was seen, or as it is by now.
pub(super) fn delete_options(uid: &str, resource_version: Option<&str>, propagation: Propagation) -> Value {
    json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation.word(),
        "preconditions": {"uid": uid, "resourceVersion": resource_version},
    })
}

/// What it means that a write failed.
pub(super) fn refused(error: CallError) -> Result<WriteOutcome, CallError> {
    match error.code() {
        // The words of RBAC: an admission webhook says 403 as well.
        Some(401) => Err(error),
        Some(403) if error.is_of_missing_rights() => Err(error),
        Some(404) => Ok(WriteOutcome::Stale),
        _ if error.is_stale() => Ok(WriteOutcome::Stale),
        // Nobody has said no: it may still be done.
        _ if error.leaves_open() => Ok(WriteOutcome::Later(error)),
        Some(400..=499) if !error.passes() && error.code() != Some(409) => {
            Ok(WriteOutcome::Refused(guarded(error.message())))
        }
        _ => Ok(WriteOutcome::Later(error)),
    }
}

/// The same of a write that nothing else waits for: what would fail again each time, such as what is too large to be
/// stored, is told of that object, and holds up no other.
pub(super) fn refused_alone(error: CallError) -> Result<WriteOutcome, CallError> {
    match error.code() {
        Some(500..) if !error.passes() && !error.leaves_open() => Ok(WriteOutcome::Refused(error.message())),
        _ => refused(error),
    }
}

/// What can be done where owner references are guarded, and whoever runs this may not change them.
/// Source: `kubernetes plugin/pkg/admission/gc/gc_admission.go`, `Validate`.
fn guarded(message: String) -> String {
    let takes = if message.contains("cannot set an ownerRef on a resource you can't delete") {
        "`delete` of what is handed over"
    } else if message.contains("a resource you can't set finalizers on") {
        "`update` of `finalizers` of its owners"
    } else {
        return message;
    };
    format!("{message}: that takes {takes}; pointsman rollout rights --guarded-owners prints the role")
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
