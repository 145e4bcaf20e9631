//! `pointsman rollout prioritize`.

use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{RolloutClock, SnapshotOptions, get_rollout, set_next, survey_rollout};
use pointsman_rollout::{PriorityDecision, RolloutStatus, decide_priority, forecast};
use serde_json::json;

use super::prometheus_args::PrometheusArgs;
use super::rollout_kind::{advise, checked};
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output;

#[derive(Args, Debug)]
pub(crate) struct PrioritizeArgs {
    /// Name of the StagedRollout.
    #[arg(value_name = "NAME")]
    name: String,
    /// Object to move next. Without a namespace for cluster-scoped kinds.
    #[arg(value_name = "NAMESPACE/OBJECT")]
    object: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    prometheus: PrometheusArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prioritizes an object.
pub(super) fn prioritize(args: &PrioritizeArgs) -> anyhow::Result<ExitCode> {
    let (all, mutated) = args.kinds.load_with_mutations()?;
    let options = args.prometheus.survey(SnapshotOptions::ObserveOnly, mutated)?;
    let outcome = args.cluster.with(async |cluster| {
        let document = get_rollout(&cluster, &args.name).await.map_err(advise)?;
        let (kind, rollout) = checked(&document, &all)?;
        let status = RolloutStatus::of(&document);
        let snapshot_query = survey_rollout(&cluster, kind, &document, &rollout, &status, &options);
        let survey = snapshot_query.await.map_err(advise)?;
        let forecasts = forecast(&rollout, &status, &survey.fleet, survey.facts.clone(), RolloutClock::start().now());
        match decide_priority(&rollout, &status, &forecasts, &args.object).map_err(anyhow::Error::msg)? {
            PriorityDecision::Needless(why) => {
                anyhow::bail!("cannot prioritize in rollout {}: {why}", args.name)
            }
            PriorityDecision::Prioritized { next, when }
                if Some(&json!(next)) == document.pointer("/spec/prioritizedObjects") =>
            {
                anyhow::bail!("cannot prioritize in rollout {}: already prioritized: {when}", args.name)
            }
            PriorityDecision::Prioritized { next, when } => {
                set_next(&cluster, &document, &next).await.map_err(advise)?;
                Ok(when)
            }
        }
    })?;
    output::text(&format!("rollout {}: {outcome}\n", args.name))?;
    Ok(ExitCode::SUCCESS)
}
