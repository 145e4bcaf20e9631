//! `pointsman rollout policies`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::get_rollout;
use pointsman_core::definition::Kind;
use pointsman_rollout::Rollout;
use pointsman_rollout::documents::{freeze, replacement_policies};

use super::rollout_kind::{FileRollout, advise, checked};
use super::runner_args::RunnerArgs;
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::format::Format;
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::{KindsArgs, LoadedKind};
use crate::commands::output;

#[derive(Args, Debug)]
pub(crate) struct PoliciesArgs {
    /// Name of the StagedRollout.
    #[arg(value_name = "NAME", required_unless_present = "filename")]
    name: Option<String>,
    /// File of a StagedRollout, or - for stdin, instead of one in the cluster.
    #[arg(short, long, value_name = "FILE", conflicts_with = "name")]
    filename: Option<PathBuf>,
    #[command(flatten)]
    runner: RunnerArgs,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints the freeze policy, and the policies of a kind conversion.
pub(super) fn policies(args: &PoliciesArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let (kind, rollout) = read(args, &all)?;
    let runner = Some(&args.runner.service_account);
    let frozen = freeze(&rollout, runner).into_iter().flat_map(|documents| [documents.policy, documents.binding]);
    let documents: Vec<_> = frozen.chain(replacement_policies(&rollout, kind, runner)).collect();
    if documents.is_empty() {
        anyhow::bail!(
            "rollout {} freezes no resource: add `freeze`, such as [{{resources: [deployments.apps]}}]",
            rollout.name()
        );
    }
    let trees = documents.iter().map(|document| JsonTree::from_json(&document.to_string()));
    output::data(&args.output.write_all(trees.collect::<Result<_, _>>()?))?;
    Ok(ExitCode::SUCCESS)
}

fn read<'k>(args: &PoliciesArgs, all: &'k [LoadedKind]) -> anyhow::Result<(&'k Kind, Rollout)> {
    match (&args.filename, &args.name) {
        (Some(file), _) => {
            let file = FileRollout::read(file, all)?;
            Ok((file.kind(all)?, file.rollout))
        }
        (None, name) => args.cluster.with(async |cluster| {
            let document = get_rollout(&cluster, name.as_deref().unwrap_or_default()).await.map_err(advise)?;
            checked(&document, all)
        }),
    }
}
