//! `pointsman roll start`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{
    Cluster, DryRun, RollError, SurveyAsks, SurveyOptions, get_roll, start_roll, survey_roll, unfreezable,
};
use pointsman_core::definition::Kind;
use pointsman_core::registration::freeze;
use pointsman_core::roll::{RollStatus, missing_stages, start_refusals};

use super::known::{FileRoll, advise};
use super::prometheus_args::PrometheusArgs;
use super::runner_args::RunnerArgs;
use super::tables::rolls;
use crate::commands::connected::ClusterArgs;
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
        let refusals = refusals(&cluster, kind, &file, &looks).await.map_err(advise)?;
        if refusals.is_empty() {
            return start_roll(&cluster, &file.document, documents.as_ref(), dry_run).await.map_err(advise);
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

/// Why a Roll must not begin. One that has begun is told by its file only what this cluster cannot freeze.
async fn refusals(
    cluster: &Cluster,
    kind: &Kind,
    file: &FileRoll,
    looks: &SurveyOptions,
) -> Result<Vec<String>, RollError> {
    let known = match get_roll(cluster, file.roll.name()).await {
        Err(RollError::NoRoll { .. }) => RollStatus::default(),
        answer => RollStatus::of(&answer?),
    };
    let unfreezable = unfreezable(cluster, &file.roll).await?;
    if known.started.is_some() {
        return Ok(unfreezable);
    }
    let survey = survey_roll(cluster, kind, &file.document, &file.roll, &known, looks).await?;
    let mut refusals = start_refusals(&file.roll, &survey.fleet, &survey.facts);
    refusals.extend(missing_stages(&file.roll, &known, &looks.staged));
    refusals.extend(unfreezable);
    Ok(refusals)
}
