//! A read-only snapshot of a rollout and its fleet.

use std::collections::BTreeSet;
use std::time::Duration;

use pointsman_core::definition::{Kind, MutatedKind};
use pointsman_rollout::{
    FleetObject, HttpAddress, LookupRequest, PlanInput, Rollout, RolloutStatus, forecast, initial_wait_lookups,
    preflight_lookups, step_lookups,
};
use serde_json::Value;

use super::clock::RolloutClock;
use super::controllers::ControllerLeases;
use super::error::RolloutError;
use super::fleet::Fleet;
use super::freeze::unfrozen;
use super::local_times::local_times;
use super::lookups::{Compiled, LookupCache, perform_lookups};
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
    pub dry_runs: usize,
    /// The reason why the freeze is not in force, if dry runs were requested.
    pub unfrozen: Option<String>,
    /// The mode.
    pub mode: SnapshotOptions,
}

/// Whether a snapshot includes dry runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SnapshotOptions {
    /// No: observes only.
    ObserveOnly,
    /// Yes: the API server and its webhooks evaluate them.
    DryRun,
}

/// Options of a snapshot.
#[derive(Clone, Debug)]
pub struct SurveyOptions {
    /// Whether to send dry runs.
    pub mode: SnapshotOptions,
    /// The Prometheus of the cluster, for checks that use it.
    pub prometheus: Option<HttpAddress>,
    /// Definitions with mutations, for steps that wait for one.
    pub mutated: Vec<MutatedKind>,
}

/// Takes a snapshot of a rollout. `document` is the StagedRollout, existing or not. With dry runs, every first write is
/// sent as dry run: webhooks evaluate it, and the API server does not store it.
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
    let all = lookups(rollout, status, &listed.objects, options.mode);
    let (now, slowly): (Vec<_>, Vec<_>) = all.into_iter().partition(|lookup| lookup.cluster.is_none());
    perform_lookups(cluster, known, &now, &mut answers).await?;
    RemoteLookups::default().results(cluster, &slowly, PATIENCE, &mut answers).await;
    let local = local_times(rollout, clock.now());
    let mut facts = PlanInput { consistent: true, closed_gate: shut, local, others, answers, ..PlanInput::default() };
    let (mut dry_runs, mut not_frozen) = (0, None);
    if options.mode == SnapshotOptions::DryRun {
        facts.ahead = true;
        not_frozen = unfrozen(cluster, rollout).await?;
        let all = forecast(rollout, status, &listed.objects, facts.clone(), clock.now());
        for one in all.iter().filter_map(|one| one.write.as_ref()) {
            dry_runs += 1;
            match try_write(cluster, &listed, one).await? {
                None | Some(WriteOutcome::Written(_) | WriteOutcome::Stale) => {}
                Some(WriteOutcome::Refused(why) | WriteOutcome::NotYet(why)) => {
                    facts.runner_cache.refused(&one.uid, &why, clock.now());
                }
                Some(WriteOutcome::Later(error)) => return Err(error.into()),
            }
        }
    }
    Ok(FleetSnapshot { fleet: listed.objects, facts, dry_runs, unfrozen: not_frozen, mode: options.mode })
}

/// All lookups, without duplicates.
fn lookups(
    rollout: &Rollout,
    status: &RolloutStatus,
    objects: &[FleetObject],
    mode: SnapshotOptions,
) -> Vec<LookupRequest> {
    let more = match mode {
        SnapshotOptions::DryRun => preflight_lookups(rollout, objects),
        SnapshotOptions::ObserveOnly => initial_wait_lookups(rollout, status, objects),
    };
    let mut known = BTreeSet::new();
    let mut all = step_lookups(rollout, status, objects);
    all.extend(more);
    all.retain(|lookup| known.insert(lookup.id()));
    all
}

/// Time to wait for other clusters: as long as each call may take.
const PATIENCE: Duration = Duration::from_secs(12);
