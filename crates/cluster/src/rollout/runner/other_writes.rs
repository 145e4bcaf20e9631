//! Writes of steps to Jobs and other objects.

use std::time::Instant;

use pointsman_core::definition::MutatedKind;
use pointsman_rollout::{JobWrite, ObjectCall, ObjectWrite};

use super::event::RolloutEvent;
use super::session::LeaseSession;
use super::write_results::{AfterWrite, WriteAccess, WriteResults, leaves_open};
use crate::call_error::{CallError, RIGHTS};
use crate::rollout::error::RolloutError;
use crate::rollout::object_steps::{try_made, write_object};
use crate::rollout::pending_writes::UnacknowledgedWrite;
use crate::rollout::writes::{WriteOutcome, run_job};

/// Creates a Job. Returns true if more work may be due at once.
pub(super) async fn write_job(
    results: &mut WriteResults,
    access: &mut WriteAccess<'_, '_>,
    one: &JobWrite,
) -> Result<bool, CallError> {
    let session = &mut *access.session;
    session.cluster.wait_for_retry_after().await;
    let sent = Instant::now();
    let landed = run_job(session.cluster, one).await?;
    if leaves_open(&landed, "POST") {
        results.add_pending(session, UnacknowledgedWrite::job(one, (sent, session.clock)));
    }
    Ok(ran(results, session, one, landed))
}

/// Writes another object.
pub(super) async fn write_other(
    results: &mut WriteResults,
    access: &mut WriteAccess<'_, '_>,
    mutated: &[MutatedKind],
    one: &ObjectWrite,
) -> Result<AfterWrite, RolloutError> {
    let session = &mut *access.session;
    if let Some(no) = try_made(session.cluster, one).await? {
        return Ok(wrote(results, session, one, no).into());
    }
    // Right before the write: earlier checks may have been slow.
    session.ensure_held().await?;
    match write_object(session.cluster, mutated, access.elsewhere, one).await {
        Ok(landed) => {
            // Checks before a deletion may be slow, so the time starts now.
            let sent = (Instant::now(), session.clock);
            // Checks before the write leave no unacknowledged write.
            if leaves_open(&landed, one.call.verb())
                && let Some(open) = UnacknowledgedWrite::object(session.cluster, one, sent).await
            {
                results.add_pending(session, open);
            }
            let opened_gap = one.opens_gap() && matches!(landed, WriteOutcome::Written(_));
            let more = wrote(results, session, one, landed);
            Ok(if opened_gap { AfterWrite::CloseGap } else { more.into() })
        }
        // The StagedRollout contains the message for the object as well.
        Err(error) if matches!(one.call, ObjectCall::ReportRefusal(_)) => {
            session.reporter.not_allowed(Some(format!("{error}: {RIGHTS}")));
            Ok(AfterWrite::Nothing)
        }
        Err(error) => Err(error.into()),
    }
}

/// Records the outcome of a Job creation. Returns true if more work may be due at once.
fn ran(results: &mut WriteResults, session: &mut LeaseSession<'_>, one: &JobWrite, landed: WriteOutcome) -> bool {
    match landed {
        WriteOutcome::Written(_) | WriteOutcome::Stale => {
            results.accepted(&one.uid);
            session.report(RolloutEvent::Ran(format!("{}/{}", one.namespace, one.name), one.of.clone()));
        }
        WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => {
            results.runner_cache.refused(&one.uid, &why, session.clock.now());
            session.report(RolloutEvent::Refused(format!("job {}/{}", one.namespace, one.name), why));
        }
        WriteOutcome::Later(error) => {
            results.later(session, &one.uid, error);
            return false;
        }
    }
    true
}

/// Records the outcome of a write of another object. Returns true if more work may be due at once.
fn wrote(results: &mut WriteResults, session: &mut LeaseSession<'_>, one: &ObjectWrite, landed: WriteOutcome) -> bool {
    match landed {
        WriteOutcome::Written(_) => {
            results.accepted(&one.uid);
            session.report(RolloutEvent::Wrote(one.message(), one.of.clone()));
        }
        WriteOutcome::Stale => {
            // Read again after a pause: another client may write it continuously.
            results.runner_cache.allowed(&one.uid);
            return false;
        }
        WriteOutcome::NotYet(why) => {
            results.runner_cache.not_yet(&one.uid, &why, session.clock.now());
            session.report(RolloutEvent::NotYet(why));
            return false;
        }
        WriteOutcome::Refused(why) => {
            // A write that closes a gap is repeated continuously: a refusal is reported once.
            let is_known = results.runner_cache.is_refused(&one.uid, &why);
            results.runner_cache.refused(&one.uid, &why, session.clock.now());
            if !is_known {
                session.report(RolloutEvent::Refused(one.title(), why));
            }
            return !is_known;
        }
        WriteOutcome::Later(error) => {
            // If no retry succeeds, the reason is known.
            results.runner_cache.failed(&one.uid, &format!("{}: {}", one.title(), error.message()));
            results.later(session, &one.uid, error);
            return false;
        }
    }
    true
}
