//! `pointsman roll start`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{
    Cluster, DryRun, RollError, SurveyAsks, SurveyOptions, forward_again, get_roll, start_roll, survey_roll,
    unfreezable,
};
use pointsman_core::definition::Kind;
use pointsman_core::registration::freeze;
use pointsman_core::roll::{RollStatus, goes_forward_again, missing_stages, start_refusals};
use serde_json::Value;

use super::known::{FileRoll, advise, without_effect};
use super::prometheus_args::PrometheusArgs;
use super::runner_args::RunnerArgs;
use super::tables::rolls;
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::dry_run_args::DryRunArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, complain};

#[derive(Args, Debug)]
pub(crate) struct StartArgs {
    /// File of the Roll, or - for stdin.
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

/// Applies a Roll that could run, and before it what freezes what it names.
pub(super) fn start(args: &StartArgs) -> anyhow::Result<ExitCode> {
    let (all, staged) = args.kinds.load_with_stages()?;
    let file = FileRoll::read(&args.filename, &all)?;
    let kind = file.kind(&all)?;
    let documents = freeze(&file.roll, Some(&args.runner.service_account));
    let dry_run = args.dry_run.mode();
    let looks = args.prometheus.survey(SurveyAsks::Nobody, staged)?;
    let started = args.cluster.patiently(async |cluster| {
        let known = known(&cluster, &file).await.map_err(advise)?;
        let forward = goes_forward_again(&known, &file.document, &args.kinds.flags()).map_err(without_effect)?;
        let refusals = refusals(&cluster, kind, &file, &looks, &RollStatus::of(&known)).await.map_err(advise)?;
        if refusals.is_empty() {
            let started = start_roll(&cluster, &file.document, documents.as_ref(), dry_run).await.map_err(advise)?;
            return match forward && dry_run.is_none() {
                true => forward_again(&cluster, file.roll.name()).await.map_err(advise),
                false => Ok(started),
            };
        }
        refusals.iter().for_each(|why| complain(why));
        anyhow::bail!("roll {} is not started: nothing was written", file.roll.name())
    })?;
    match dry_run {
        None => output::text(&rolls(&[started]))?,
        Some(mode) => {
            let (name, mode) = (file.roll.name(), DryRun::name(mode));
            let policy =
                documents.map(|one| format!("policy {} and its binding would be applied ({mode} dry run)\n", one.name));
            output::text(&format!("{}roll {name} would be applied ({mode} dry run)\n", policy.unwrap_or_default()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The Roll as it is in the cluster; nothing where it is not.
async fn known(cluster: &Cluster, file: &FileRoll) -> Result<Value, RollError> {
    match get_roll(cluster, file.roll.name()).await {
        Err(RollError::NoRoll { .. }) => Ok(Value::Null),
        answer => answer,
    }
}

/// Why a Roll must not begin. One that has begun is told by its file only what this cluster cannot freeze.
async fn refusals(
    cluster: &Cluster,
    kind: &Kind,
    file: &FileRoll,
    looks: &SurveyOptions,
    known: &RollStatus,
) -> Result<Vec<String>, RollError> {
    let unfreezable = unfreezable(cluster, &file.roll).await?;
    if known.started.is_some() {
        return Ok(unfreezable);
    }
    let survey = survey_roll(cluster, kind, &file.document, &file.roll, known, looks).await?;
    let mut refusals = start_refusals(&file.roll, &survey.fleet, &survey.facts);
    refusals.extend(missing_stages(&file.roll, known, &looks.staged));
    refusals.extend(unfreezable);
    Ok(refusals)
}
