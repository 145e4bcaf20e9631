//! The observations of a runner: its fleet, and the other input of a plan.

use std::collections::BTreeSet;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_rollout::{
    FleetObject, LookupRequest, LookupResults, PlanInput, Rollout, RolloutPlan, RolloutStatus, RunnerCache,
    converted_sources, initial_wait_lookups, needs_other_rollouts, plan, step_lookups,
};
use serde_json::Value;
use tokio::time::sleep;

use super::options::RolloutOptions;
use super::session::{INTERVAL, LeaseSession, SELDOM};
use crate::rollout::controllers::ControllerLeases;
use crate::rollout::error::RolloutError;
use crate::rollout::fleet::Fleet;
use crate::rollout::freeze::unfrozen;
use crate::rollout::local_times::local_times;
use crate::rollout::lookups::{Compiled, LookupCache, perform_lookups};
use crate::rollout::other_rollouts::others;
use crate::rollout::remote_lookups::RemoteLookups;

/// Observes the fleet of a rollout, and all else that a plan depends on.
pub(super) struct FleetObserver<'r> {
    kind: &'r Kind,
    options: &'r RolloutOptions,
    pub(super) fleet: Option<Fleet>,
    /// The fleet must be listed before anything else.
    pub(super) wants_list: bool,
    /// Results of other clusters. Writes elsewhere use the same connections.
    pub(super) elsewhere: RemoteLookups,
    /// The StagedRollout at the last observation of the fleet.
    rollout: Option<Rollout>,
    /// The spec when the fleet was listed.
    spec: Value,
    controllers: ControllerLeases,
    lookup_cache: LookupCache,
}

/// What the runner itself adds to the input of a plan.
pub(super) struct OwnState {
    pub(super) runner_cache: RunnerCache,
    /// The rollout began just now: another one may have begun at the same time.
    pub(super) has_begun: bool,
    /// True if the fleet is a consistent list.
    pub(super) consistent: bool,
}

impl<'r> FleetObserver<'r> {
    pub(super) fn new(kind: &'r Kind, options: &'r RolloutOptions) -> Self {
        Self {
            kind,
            options,
            fleet: None,
            wants_list: true,
            elsewhere: RemoteLookups::default(),
            rollout: None,
            spec: Value::Null,
            controllers: ControllerLeases::default(),
            lookup_cache: LookupCache::nothing(options.prometheus.as_ref()),
        }
    }

    fn objects(&self) -> &[FleetObject] {
        self.fleet.as_ref().map_or(&[], |fleet| fleet.objects.as_slice())
    }

    /// Returns the fleet and the StagedRollout after a pass. A failed call does not invalidate observations.
    pub(super) fn put_back(&mut self, fleet: Fleet, rollout: Rollout) {
        (self.fleet, self.rollout) = (Some(fleet), Some(rollout));
    }

    /// Waits, and watches the fleet meanwhile.
    pub(super) async fn listen(
        &mut self,
        session: &mut LeaseSession<'_>,
        patience: Duration,
    ) -> Result<(), RolloutError> {
        let (Some(fleet), Some(rollout)) = (self.fleet.as_mut(), self.rollout.as_ref()) else {
            sleep(patience).await;
            return Ok(());
        };
        match session.while_renewing(fleet.listen(session.cluster, rollout, patience)).await {
            Ok(all) => {
                self.wants_list |= !all;
                Ok(())
            }
            Err(error) => session.pause_after(error, self.options.once).await,
        }
    }

    /// Observes the fleet: lists it if the plan requests it or the spec changed, otherwise processes watch events.
    /// Returns true if the fleet is consistent.
    pub(super) async fn observe(
        &mut self,
        session: &mut LeaseSession<'_>,
        (document, rollout, status): (&Value, &Rollout, &RolloutStatus),
    ) -> Result<bool, RolloutError> {
        let spec = document.get("spec").cloned().unwrap_or_default();
        self.wants_list |= self.spec != spec;
        if let Some(fleet) = &mut self.fleet {
            fleet.keep(status);
        }
        if let Some(fleet) = self.fleet.as_mut().filter(|_| !self.wants_list)
            && session.while_renewing(fleet.listen(session.cluster, rollout, GLANCE)).await?
        {
            return Ok(false);
        }
        self.wants_list = true;
        // Frees the old fleet first, to limit memory.
        self.fleet = None;
        self.fleet = Some(session.while_renewing(Fleet::list(session.cluster, self.kind, rollout, status)).await?);
        (self.spec, self.wants_list) = (spec, false);
        Ok(true)
    }

    /// Planner input outside of the fleet.
    pub(super) async fn facts(
        &mut self,
        session: &mut LeaseSession<'_>,
        (document, rollout, status): (&Value, &Rollout, &RolloutStatus),
        own: OwnState,
    ) -> Result<PlanInput, RolloutError> {
        let (cluster, clock) = (session.cluster, session.clock);
        let shut = self.controllers.shut(cluster, rollout, status, clock).await?;
        if own.consistent && rollout.has_external_versions() {
            // The final status uses new lookups.
            self.lookup_cache.forget();
        }
        let initial_lookups = self.lookup_cache.answers(cluster, self.kind, rollout, status);
        let mut answers = session.while_renewing(initial_lookups).await?;
        let known = Compiled { kind: self.kind, mutated: &self.options.mutated };
        let (now, slowly) = lookups(rollout, status, self.objects());
        session.while_renewing(perform_lookups(cluster, known, &now, &mut answers)).await?;
        self.elsewhere.forget(&now);
        // With `once`, waits as long as a response may take.
        let patience = if self.options.once { SELDOM * 3 } else { INTERVAL };
        let lookup_calls = async {
            self.elsewhere.results(cluster, &slowly, patience, &mut answers).await;
            Ok::<(), RolloutError>(())
        };
        session.while_renewing(lookup_calls).await?;
        Ok(PlanInput {
            runner_cache: own.runner_cache,
            consistent: own.consistent,
            closed_gate: shut,
            local: local_times(rollout, clock.now()),
            others: match own.has_begun || needs_other_rollouts(rollout, status) {
                true => self.others(session, (document, rollout, status), &answers).await?,
                false => Vec::new(),
            },
            unfrozen: if status.started.is_none() { unfrozen(cluster, rollout).await? } else { None },
            answers,
            ahead: false,
            trouble: None,
        })
    }

    /// Active rollouts over the same objects.
    async fn others(
        &self,
        session: &LeaseSession<'_>,
        (document, rollout, status): (&Value, &Rollout, &RolloutStatus),
        answers: &LookupResults,
    ) -> Result<Vec<(String, Vec<String>)>, RolloutError> {
        let deleted = converted_sources(rollout, status, self.objects(), answers);
        others(session.cluster, self.kind, document, self.objects().iter().chain(&deleted)).await
    }
}

/// Plans the next writes. Decisions without precondition use current objects instead of earlier observations.
pub(super) async fn plan_on_current_objects(
    session: &mut LeaseSession<'_>,
    status: &RolloutStatus,
    rollout: &Rollout,
    fleet: &mut Fleet,
    facts: &PlanInput,
) -> Result<RolloutPlan, RolloutError> {
    loop {
        let planned = plan(rollout, status, &fleet.objects, facts.clone(), session.clock.now());
        if facts.consistent {
            return Ok(planned);
        }
        let judged = planned.judged(rollout, status);
        let again = fleet.reread(session.cluster, rollout, &judged);
        if !session.while_renewing(again).await? {
            return Ok(planned);
        }
    }
}

/// Lookups that need current data, and lookups that may be some seconds old: in other clusters, and for waits before an
/// object begins.
fn lookups(
    rollout: &Rollout,
    status: &RolloutStatus,
    objects: &[FleetObject],
) -> (Vec<LookupRequest>, Vec<LookupRequest>) {
    let of_steps = step_lookups(rollout, status, objects).into_iter();
    let (now, mut slowly): (Vec<_>, Vec<_>) = of_steps.partition(|lookup| lookup.cluster.is_none());
    let known: BTreeSet<String> = now.iter().chain(&slowly).map(LookupRequest::id).collect();
    let waiting = initial_wait_lookups(rollout, status, objects).into_iter();
    slowly.extend(waiting.filter(|lookup| !known.contains(&lookup.id())));
    (now, slowly)
}

/// Time to process events that have already arrived.
const GLANCE: Duration = Duration::from_millis(10);
