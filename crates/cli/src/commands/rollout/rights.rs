//! `pointsman rollout rights`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::get_rollout;
use pointsman_rollout::OwnerReferences;
use pointsman_rollout::documents::rollout_roles;

use super::rollout_kind::{FileRollout, advise, checked};
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::format::Format;
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output;

#[derive(Args, Debug)]
pub(crate) struct RightsArgs {
    /// Name of the StagedRollout.
    #[arg(value_name = "NAME", required_unless_present = "filename")]
    name: Option<String>,
    /// File of a StagedRollout, or - for stdin, instead of one in the cluster.
    #[arg(short, long, value_name = "FILE", conflicts_with = "name")]
    filename: Option<PathBuf>,
    /// Include the additional rights that the admission plugin OwnerReferencesPermissionEnforcement requires to change
    /// owner references.
    #[arg(long)]
    guarded_owners: bool,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints the ClusterRole of the runner, followed by one for other clusters, if the rollout accesses them.
pub(super) fn rights(args: &RightsArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let owners = if args.guarded_owners { OwnerReferences::Guarded } else { OwnerReferences::Free };
    let roles = match (&args.filename, &args.name) {
        (Some(file), _) => {
            let file = FileRollout::read(file, &all)?;
            rollout_roles(&file.rollout, file.kind(&all)?, owners)
        }
        (None, name) => args.cluster.with(async |cluster| {
            let document = get_rollout(&cluster, name.as_deref().unwrap_or_default()).await.map_err(advise)?;
            let (kind, rollout) = checked(&document, &all)?;
            Ok(rollout_roles(&rollout, kind, owners))
        })?,
    };
    let trees = roles.iter().map(|role| JsonTree::from_json(&role.to_string())).collect::<Result<Vec<_>, _>>()?;
    output::data(&args.output.write_all(trees))?;
    Ok(ExitCode::SUCCESS)
}
