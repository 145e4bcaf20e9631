//! `pointsman rollout start`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{
    Cluster, DryRun, RolloutError, SnapshotOptions, SurveyOptions, forward_again, get_rollout, start_rollout,
    survey_rollout, unfreezable,
};
use pointsman_core::definition::Kind;
use pointsman_rollout::documents::freeze;
use pointsman_rollout::{RolloutStatus, missing_mutations, restarts_forward, start_refusals};
use serde_json::Value;

use super::prometheus_args::PrometheusArgs;
use super::rollout_kind::{FileRollout, advise, without_effect};
use super::runner_args::RunnerArgs;
use super::tables::rollouts;
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::dry_run_args::DryRunArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, complain};

#[derive(Args, Debug)]
pub(crate) struct StartArgs {
    /// File of the StagedRollout, or - for stdin.
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    #[command(flatten)]
    runner: RunnerArgs,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    prometheus: PrometheusArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Applies a valid StagedRollout, after its freeze policy.
pub(super) fn start(args: &StartArgs) -> anyhow::Result<ExitCode> {
    let (all, mutated) = args.kinds.load_with_mutations()?;
    let file = FileRollout::read(&args.filename, &all)?;
    let kind = file.kind(&all)?;
    let documents = freeze(&file.rollout, Some(&args.runner.service_account));
    let dry_run = args.dry_run.mode();
    let options = args.prometheus.survey(SnapshotOptions::ObserveOnly, mutated)?;
    let started = args.cluster.patiently(async |cluster| {
        let known = known(&cluster, &file).await.map_err(advise)?;
        let forward = restarts_forward(&known, &file.document, &args.kinds.flags()).map_err(without_effect)?;
        let refusals = refusals(&cluster, kind, &file, &options, &RolloutStatus::of(&known)).await.map_err(advise)?;
        if refusals.is_empty() {
            let started = start_rollout(&cluster, &file.document, documents.as_ref(), dry_run).await.map_err(advise)?;
            return match forward && dry_run.is_none() {
                true => forward_again(&cluster, file.rollout.name()).await.map_err(advise),
                false => Ok(started),
            };
        }
        refusals.iter().for_each(|why| complain(why));
        anyhow::bail!("rollout {} is not started; the cluster is unchanged", file.rollout.name())
    })?;
    match dry_run {
        None => output::text(&rollouts(&[started]))?,
        Some(mode) => {
            let (name, mode) = (file.rollout.name(), DryRun::name(mode));
            let policy =
                documents.map(|one| format!("would apply policy {} and its binding ({mode} dry run)\n", one.name));
            output::text(&format!("{}rollout {name} would be applied ({mode} dry run)\n", policy.unwrap_or_default()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The StagedRollout in the cluster, or null.
async fn known(cluster: &Cluster, file: &FileRollout) -> Result<Value, RolloutError> {
    match get_rollout(cluster, file.rollout.name()).await {
        Err(RolloutError::NoRollout { .. }) => Ok(Value::Null),
        answer => answer,
    }
}

/// The reasons why a StagedRollout must not start. For a rollout in progress, only resources that this cluster cannot
/// freeze.
async fn refusals(
    cluster: &Cluster,
    kind: &Kind,
    file: &FileRollout,
    options: &SurveyOptions,
    known: &RolloutStatus,
) -> Result<Vec<String>, RolloutError> {
    let unfreezable = unfreezable(cluster, &file.rollout).await?;
    if known.started.is_some() {
        return Ok(unfreezable);
    }
    let survey = survey_rollout(cluster, kind, &file.document, &file.rollout, known, options).await?;
    let mut refusals = start_refusals(&file.rollout, &survey.fleet, &survey.facts);
    refusals.extend(missing_mutations(&file.rollout, known, &options.mutated));
    refusals.extend(unfreezable);
    Ok(refusals)
}
