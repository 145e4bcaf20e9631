//! Writes of objects of the fleet: moves, holds and retries.

use std::time::Instant;

use pointsman_rollout::{ApiCallKind, FleetObject, ObjectPatch};
use serde_json::Value;

use super::event::RolloutEvent;
use super::write_results::{WriteAccess, WriteResults, leaves_open};
use crate::call_error::CallError;
use crate::rollout::error::RolloutError;
use crate::rollout::fleet::Again;
use crate::rollout::pending_writes::UnacknowledgedWrite;
use crate::rollout::writes::{WriteMode, WriteOutcome, try_write, write};

/// Writes objects of the fleet, and checks once that the cluster keeps what a rollout needs.
#[derive(Default)]
pub(super) struct FleetWriter {
    /// True if annotations of moves were stored as written so far: label moves then need no dry run each.
    keeps_annotations: Option<bool>,
    /// True if the protection of held objects was checked.
    hold_protection_checked: bool,
}

impl FleetWriter {
    /// Moves an object. Returns true if more work may be due at once.
    pub(super) async fn move_object(
        &mut self,
        results: &mut WriteResults,
        access: &mut WriteAccess<'_, '_>,
        one: &ObjectPatch,
    ) -> Result<bool, RolloutError> {
        let is_tried = one.notes() && (access.rollout.has_workflows() || self.keeps_annotations != Some(true));
        let stands_against = match is_tried {
            true => try_write(access.session.cluster, access.fleet, one).await?,
            false => None,
        };
        let landed = match stands_against {
            Some(no) => no,
            None => {
                // Earlier checks may have been slow.
                access.session.ensure_held().await?;
                patch(results, access, one).await?
            }
        };
        match landed {
            WriteOutcome::Written(now) => {
                results.accepted(&one.uid);
                access.fleet.wrote(&now, access.rollout);
                access.session.report(RolloutEvent::Moved(one.title()));
                self.check_annotation(results, access, one, &now);
            }
            WriteOutcome::Stale => overtaken(results, access, one).await?,
            WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => {
                results.runner_cache.refused(&one.uid, &why, access.session.clock.now());
                access.session.report(RolloutEvent::Refused(one.title(), why));
            }
            WriteOutcome::Later(error) => {
                results.later(access.session, &one.uid, error);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks that the annotation of a move was stored. An unrecorded step is repeated with back-off, and an unrecorded
    /// move cannot be undone.
    fn check_annotation(
        &mut self,
        results: &mut WriteResults,
        access: &WriteAccess<'_, '_>,
        one: &ObjectPatch,
        now: &Value,
    ) {
        match one.unkept(now) {
            Some(why) if access.rollout.has_workflows() => {
                results.runner_cache.not_yet(&one.uid, &why, access.session.clock.now());
                access.session.report(RolloutEvent::NotYet(format!("{}: {why}", one.title())));
            }
            Some(why) => {
                self.keeps_annotations = Some(false);
                let then = "so `pointsman rollout undo` will not move this object back: restore the annotation, or move the object by hand";
                access.session.report(RolloutEvent::Noted(format!("{}: {why}: {then}", one.title())));
            }
            None if one.notes() => self.keeps_annotations = self.keeps_annotations.or(Some(true)),
            None => {}
        }
    }

    /// Holds or releases an object. Returns true if more work may be due at once.
    pub(super) async fn hold(
        &mut self,
        results: &mut WriteResults,
        access: &mut WriteAccess<'_, '_>,
        one: &ObjectPatch,
    ) -> Result<bool, RolloutError> {
        match patch(results, access, one).await? {
            WriteOutcome::Written(now) => {
                results.is_not_behind(&one.uid);
                access.fleet.wrote(&now, access.rollout);
                self.check_hold_protection(access, &now).await?;
            }
            WriteOutcome::Stale => results.wants_list = true,
            WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => {
                results.runner_cache.refused_hold(&one.uid);
                access.session.report(RolloutEvent::Refused(one.title(), why));
            }
            WriteOutcome::Later(error) => {
                results.later(access.session, &one.uid, error);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks once that the webhook protects held objects, with a dry run of another client's change.
    async fn check_hold_protection(
        &mut self,
        access: &mut WriteAccess<'_, '_>,
        now: &Value,
    ) -> Result<(), RolloutError> {
        let WriteAccess { session, fleet, rollout, .. } = access;
        let object = FleetObject::of(now, rollout).filter(|_| !self.hold_protection_checked);
        let Some(one) = object.and_then(|object| ObjectPatch::by_another_client(rollout, &object)) else {
            return Ok(());
        };
        if let WriteOutcome::Written(answer) = write(session.cluster, fleet, &one, WriteMode::Try).await? {
            self.hold_protection_checked = true;
            if FleetObject::of(&answer, rollout).is_some_and(|object| object.version() == Some(rollout.to())) {
                let why = "is held, but other clients can still move the object: /mutate is not registered for the object, or an older server without holds responds: run pointsman doctor";
                session.report(RolloutEvent::Noted(format!("{} {why}", one.title())));
            }
        }
        Ok(())
    }
}

/// Retries a refused object as dry run. Returns true if more work may be due at once.
pub(super) async fn try_again(
    results: &mut WriteResults,
    access: &mut WriteAccess<'_, '_>,
    one: &ObjectPatch,
) -> Result<bool, RolloutError> {
    match try_write(access.session.cluster, access.fleet, one).await? {
        None | Some(WriteOutcome::Written(_) | WriteOutcome::Stale) => {
            results.accepted(&one.uid);
            return Ok(true);
        }
        Some(WriteOutcome::Refused(why) | WriteOutcome::NotYet(why)) => {
            results.runner_cache.refused(&one.uid, &why, access.session.clock.now());
        }
        Some(WriteOutcome::Later(error)) => access.session.failed(&error),
    }
    Ok(false)
}

/// Writes an object, and records the duration.
async fn patch(
    results: &mut WriteResults,
    access: &mut WriteAccess<'_, '_>,
    one: &ObjectPatch,
) -> Result<WriteOutcome, CallError> {
    let WriteAccess { session, fleet, .. } = access;
    let started = Instant::now();
    let landed = write(session.cluster, fleet, one, WriteMode::Write).await;
    session.took(ApiCallKind::Object, started);
    if landed.as_ref().is_ok_and(|landed| leaves_open(landed, "PATCH")) {
        results.add_pending(session, UnacknowledgedWrite::of_fleet(fleet, one, (started, session.clock)));
    }
    landed
}

/// Reads an object again after a conflict with another client: its controller, whose last write the move records,
/// or a client that moved or replaced it.
async fn overtaken(
    results: &mut WriteResults,
    access: &mut WriteAccess<'_, '_>,
    one: &ObjectPatch,
) -> Result<(), RolloutError> {
    let WriteAccess { session, fleet, rollout, .. } = access;
    results.runner_cache.overtaken(&one.uid);
    let reads = fleet.read_again(session.cluster, rollout, one);
    match session.while_renewing(reads).await? {
        Again::SameVersion => {}
        Again::OtherVersion => session.report(RolloutEvent::Replaced(one.title())),
        Again::Deleted => {
            session.report(RolloutEvent::Replaced(one.title()));
            results.wants_list = true;
        }
    }
    Ok(())
}
