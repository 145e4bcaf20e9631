//! A read-only snapshot of a rollout and its fleet.

use std::collections::BTreeSet;
use std::time::Duration;

use pointsman_core::definition::{HttpAddress, Kind, MutatedKind};
use pointsman_core::rollout::{
    FleetObject, LookupRequest, PlanInput, Rollout, RolloutStatus, ahead_questions, forecast, step_questions,
    waiting_questions,
};
use serde_json::Value;

use super::clock::RolloutClock;
use super::controllers::ControllerLeases;
use super::error::RolloutError;
use super::fleet::Fleet;
use super::freeze::unfrozen;
use super::local_times::local_times;
use super::lookups::{Compiled, LookupCache, look_up_more};
use super::other_rollouts::others;
use super::remote_lookups::RemoteLookups;
use super::writes::{WriteOutcome, try_write};
use crate::cluster::Cluster;

/// A fleet with planner input.
#[derive(Debug)]
pub struct FleetSnapshot {
    /// Its objects.
    pub fleet: Vec<FleetObject>,
    /// Planner input, including refusals from dry runs.
    pub facts: PlanInput,
    /// The number of dry runs.
    pub asked: usize,
    /// The reason why the freeze is not in force, if dry runs were requested.
    pub unfrozen: Option<String>,
    /// The mode.
    pub asks: SnapshotOptions,
}

/// Whether a snapshot includes dry runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SnapshotOptions {
    /// No: observes only.
    Nobody,
    /// Yes: the API server and its webhooks evaluate them.
    TheServer,
}

/// Options of a snapshot.
#[derive(Clone, Debug)]
pub struct SurveyOptions {
    /// Whether to send dry runs.
    pub asks: SnapshotOptions,
    /// The Prometheus of the cluster, for checks that use it.
    pub prometheus: Option<HttpAddress>,
    /// Definitions with mutations, for steps that wait for one.
    pub mutated: Vec<MutatedKind>,
}

/// Takes a snapshot of a rollout. `document` is the StagedRollout, existing or not. With dry runs, every first write is
/// sent as dry run: webhooks evaluate it and nothing is stored.
///
/// # Errors
/// [`RolloutError`].
pub async fn survey_rollout(
    cluster: &Cluster,
    kind: &Kind,
    document: &Value,
    rollout: &Rollout,
    status: &RolloutStatus,
    options: &SurveyOptions,
) -> Result<FleetSnapshot, RolloutError> {
    let clock = RolloutClock::start();
    let listed = Fleet::list(cluster, kind, rollout, status).await?;
    let shut = ControllerLeases::default().shut(cluster, rollout, status, clock).await?;
    let others = match status.started {
        None => others(cluster, kind, document, listed.objects.iter()).await?,
        Some(_) => Vec::new(),
    };
    let mut answers = LookupCache::nothing(options.prometheus.as_ref()).answers(cluster, kind, rollout, status).await?;
    let known = Compiled { kind, mutated: &options.mutated };
    let all = questions(rollout, status, &listed.objects, options.asks);
    let (now, slowly): (Vec<_>, Vec<_>) = all.into_iter().partition(|question| question.cluster.is_none());
    look_up_more(cluster, known, &now, &mut answers).await?;
    RemoteLookups::default().tell(cluster, &slowly, PATIENCE, &mut answers).await;
    let local = local_times(rollout, clock.now());
    let mut facts = PlanInput { consistent: true, shut, local, others, answers, ..PlanInput::default() };
    let (mut asked, mut not_frozen) = (0, None);
    if options.asks == SnapshotOptions::TheServer {
        facts.ahead = true;
        not_frozen = unfrozen(cluster, rollout).await?;
        let all = forecast(rollout, status, &listed.objects, facts.clone(), clock.now());
        for one in all.iter().filter_map(|one| one.write.as_ref()) {
            asked += 1;
            match try_write(cluster, &listed, one).await? {
                None | Some(WriteOutcome::Written(_) | WriteOutcome::Stale) => {}
                Some(WriteOutcome::Refused(why) | WriteOutcome::NotYet(why)) => {
                    facts.remembered.refused(&one.uid, &why, clock.now());
                }
                Some(WriteOutcome::Later(error)) => return Err(error.into()),
            }
        }
    }
    Ok(FleetSnapshot { fleet: listed.objects, facts, asked, unfrozen: not_frozen, asks: options.asks })
}

/// All lookups, without duplicates.
fn questions(
    rollout: &Rollout,
    status: &RolloutStatus,
    objects: &[FleetObject],
    asks: SnapshotOptions,
) -> Vec<LookupRequest> {
    let more = match asks {
        SnapshotOptions::TheServer => ahead_questions(rollout, objects),
        SnapshotOptions::Nobody => waiting_questions(rollout, status, objects),
    };
    let mut known = BTreeSet::new();
    let mut all = step_questions(rollout, status, objects);
    all.extend(more);
    all.retain(|question| known.insert(question.id()));
    all
}

/// Time to wait for other clusters: as long as each call may take.
const PATIENCE: Duration = Duration::from_secs(12);
