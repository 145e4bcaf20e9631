//! A look at a rollout and its fleet that writes nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use pointsman_core::definition::{HttpAddress, Kind, MutatedKind};
use pointsman_core::rollout::{
    FleetObject, Rollout, PlanInput, LookupRequest, RolloutStatus, ahead_questions, forecast, step_questions,
    waiting_questions,
};
use serde_json::Value;

use super::clock::RolloutClock;
use super::controllers::ControllerLeases;
use super::remote_lookups::RemoteLookups;
use super::error::RolloutError;
use super::fleet::Fleet;
use super::freeze::unfrozen;
use super::local_times::local_times;
use super::lookups::{Compiled, LookupCache, look_up_more};
use super::other_rollouts::others;
use super::writes::{WriteOutcome, try_write};
use crate::cluster::Cluster;

/// A fleet, and what is known of it.
#[derive(Debug)]
pub struct FleetSnapshot {
    /// Its objects.
    pub fleet: Vec<FleetObject>,
    /// Who has refused what, where the API server was asked.
    pub facts: PlanInput,
    /// Dry runs that were sent.
    pub asked: usize,
    /// Why what the rollout freezes is not frozen by what is there, where the API server was asked.
    pub unfrozen: Option<String>,
    /// Who was asked.
    pub asks: SnapshotOptions,
}

/// Whom a survey asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SnapshotOptions {
    /// Nobody: what can be seen is told.
    Nobody,
    /// The API server, and through it every webhook, by dry runs.
    TheServer,
}

/// How a fleet is looked at.
#[derive(Clone, Debug)]
pub struct SurveyOptions {
    /// Whom to ask.
    pub asks: SnapshotOptions,
    /// The Prometheus of the cluster, for checks that ask it.
    pub prometheus: Option<HttpAddress>,
    /// Definitions of stages, for steps that wait until one has seen an object.
    pub mutated: Vec<MutatedKind>,
}

/// Looks at the fleet of a rollout, whose `document` is, or would be, in the cluster. Where the server is asked, every
/// first write is sent as a dry run, so that each webhook judges it and nothing is stored.
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

/// What has to be looked up, each once.
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

/// How long answers of other clusters are waited for: as long as each of them may take.
const PATIENCE: Duration = Duration::from_secs(12);
