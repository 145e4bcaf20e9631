//! `pointsman roll start`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{DryRun, start_roll, unfreezable};
use pointsman_core::registration::freeze;

use super::known::{FileRoll, advise};
use super::runner_args::RunnerArgs;
use super::tables::rolls;
use crate::commands::connected::ClusterArgs;
use crate::commands::dry_run_args::DryRunArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output;

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
    kinds: KindsArgs,
}

/// Applies a Roll that could run, and before it what freezes what it names.
pub(super) fn start(args: &StartArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let FileRoll { roll, document } = FileRoll::read(&args.filename, &all)?;
    roll.way_back().map_err(anyhow::Error::msg)?;
    let documents = freeze(&roll, Some(&args.runner.service_account));
    let dry_run = args.dry_run.mode();
    let started = args.cluster.with(async |cluster| {
        let never = unfreezable(&cluster, &roll).await.map_err(|error| advise(error.into()))?;
        anyhow::ensure!(never.is_empty(), never.join("\n"));
        start_roll(&cluster, &document, documents.as_ref(), dry_run).await.map_err(advise)
    })?;
    match dry_run {
        None => output::text(&rolls(&[started]))?,
        Some(mode) => {
            let (name, mode) = (roll.name(), DryRun::name(mode));
            let policy =
                documents.map(|one| format!("policy {} and its binding would be applied ({mode} dry run)\n", one.name));
            output::text(&format!("{}roll {name} would be applied ({mode} dry run)\n", policy.unwrap_or_default()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
