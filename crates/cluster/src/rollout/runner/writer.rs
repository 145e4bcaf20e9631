//! The writes of a plan, in order, and their effect on later plans.

use std::time::{Duration, Instant};

use pointsman_core::definition::MutatedKind;
use pointsman_rollout::{RolloutPlan, RolloutStatus, RolloutWrite};
use serde_json::Value;

use super::event::RolloutEvent;
use super::fleet_writes::{FleetWriter, try_again};
use super::other_writes::{write_job, write_other};
use super::session::INTERVAL;
use super::write_results::{AfterWrite, WriteAccess, WriteResults};
use crate::rollout::error::RolloutError;

/// Performs plans, and remembers failures between them.
pub(super) struct PlanWriter<'r> {
    /// Definitions with mutations.
    mutated: &'r [MutatedKind],
    pub(super) results: WriteResults,
    /// The rollout began just now, without other writes: another one may have begun at the same time.
    pub(super) has_begun: bool,
    fleet: FleetWriter,
}

/// The result of the writes of a plan.
pub(super) struct PlanResult {
    /// The stored status.
    pub(super) status: RolloutStatus,
    /// True if anything was written.
    pub(super) any: bool,
    /// True if all planned moves were made.
    pub(super) moved: bool,
    /// True if another client changed the StagedRollout since it was read: the status is stale.
    pub(super) stale: bool,
}

impl<'r> PlanWriter<'r> {
    pub(super) fn new(mutated: &'r [MutatedKind]) -> Self {
        Self { mutated, results: WriteResults::default(), has_begun: false, fleet: FleetWriter::default() }
    }

    /// Performs the planned writes in order.
    pub(super) async fn write(
        &mut self,
        access: &mut WriteAccess<'_, '_>,
        mut document: Value,
        planned: RolloutPlan,
    ) -> Result<PlanResult, RolloutError> {
        let mut result = PlanResult { status: planned.status, any: false, moved: false, stale: false };
        let mut began = None;
        let is_gap = |write: &RolloutWrite| matches!(write, RolloutWrite::Object(one) if one.closes_gap());
        let (gaps, writes): (Vec<_>, Vec<_>) = planned.writes.into_iter().partition(is_gap);
        result.any |= self.close_gaps(access, &gaps).await?;
        if self.results.trouble.is_some() {
            return Ok(result);
        }
        for next in self.results.in_turn(writes) {
            if !matches!(next, RolloutWrite::Status(_)) {
                // A pause takes effect without waiting for hundreds of writes.
                if began.get_or_insert_with(Instant::now).elapsed() > LONGEST_TURN {
                    return Ok(PlanResult { any: true, moved: false, ..result });
                }
                access.session.wait_for_turn().await;
            }
            access.session.ensure_held().await?;
            match next {
                RolloutWrite::Status(status) => match access.session.put_status(&document, &status).await {
                    Ok(now) => {
                        access.session.report_status(&document, &status).await;
                        self.has_begun = RolloutStatus::of(&document).started.is_none() && status.started.is_some();
                        document = now;
                        result.any = true;
                        access.session.report(RolloutEvent::Status(status));
                        if self.has_begun {
                            // No object moves before it is certain that no other rollout began at the same time.
                            return Ok(result);
                        }
                    }
                    // Another client approved, paused or resumed the rollout: the plan is stale.
                    Err(error) if error.code() == Some(409) => {
                        let status = RolloutStatus::of(&document);
                        return Ok(PlanResult { status, any: true, moved: false, stale: true });
                    }
                    Err(error) => return Err(error.into()),
                },
                other => {
                    result.moved |= matches!(other, RolloutWrite::Move(_)) && !access.rollout.has_workflows();
                    let then = self.perform(access, &other).await?;
                    result.any |= then != AfterWrite::Nothing;
                    if then == AfterWrite::CloseGap {
                        break;
                    }
                }
            }
            if self.results.trouble.is_some() {
                break;
            }
        }
        Ok(result)
    }

    /// Performs a write other than the status.
    async fn perform(
        &mut self,
        access: &mut WriteAccess<'_, '_>,
        write: &RolloutWrite,
    ) -> Result<AfterWrite, RolloutError> {
        Ok(match write {
            RolloutWrite::Status(_) => AfterWrite::Nothing,
            RolloutWrite::Move(one) => self.fleet.move_object(&mut self.results, access, one).await?.into(),
            RolloutWrite::Job(one) => write_job(&mut self.results, access, one).await?.into(),
            RolloutWrite::Object(one) => write_other(&mut self.results, access, self.mutated, one).await?,
            RolloutWrite::Hold(one) => self.fleet.hold(&mut self.results, access, one).await?.into(),
            RolloutWrite::Try(one) => try_again(&mut self.results, access, one).await?.into(),
        })
    }

    /// Recreates objects deleted for another one, regardless of other errors. Returns true if more work may be due at
    /// once.
    async fn close_gaps(
        &mut self,
        access: &mut WriteAccess<'_, '_>,
        gaps: &[RolloutWrite],
    ) -> Result<bool, RolloutError> {
        let (mut any, mut failed) = (false, None);
        for gap in gaps {
            let RolloutWrite::Object(one) = gap else { continue };
            access.session.wait_for_turn().await;
            access.session.ensure_held().await?;
            match write_other(&mut self.results, access, self.mutated, one).await {
                Ok(then) => any |= then != AfterWrite::Nothing,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(any), Err)
    }
}

/// Writes of one plan stop after this time.
const LONGEST_TURN: Duration = INTERVAL;
