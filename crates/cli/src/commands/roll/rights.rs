//! `pointsman roll rights`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::get_roll;
use pointsman_core::registration::roll_role;

use super::known::{FileRoll, advise, checked};
use crate::commands::connected::ClusterArgs;
use crate::commands::format::Format;
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output;

#[derive(Args, Debug)]
pub(crate) struct RightsArgs {
    /// Name of the Roll.
    #[arg(value_name = "NAME", required_unless_present = "filename")]
    name: Option<String>,
    /// File of a Roll, or - for stdin, instead of one that is in the cluster.
    #[arg(short, long, value_name = "FILE", conflicts_with = "name")]
    filename: Option<PathBuf>,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints the ClusterRole that running a roll takes.
pub(super) fn rights(args: &RightsArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let role = match (&args.filename, &args.name) {
        (Some(file), _) => {
            let file = FileRoll::read(file, &all)?;
            roll_role(&file.roll, file.kind(&all)?)
        }
        (None, name) => args.cluster.with(async |cluster| {
            let document = get_roll(&cluster, name.as_deref().unwrap_or_default()).await.map_err(advise)?;
            let (kind, roll) = checked(&document, &all)?;
            Ok(roll_role(&roll, kind))
        })?,
    };
    output::data(&args.output.write(&JsonTree::from_json(&role.to_string())?))?;
    Ok(ExitCode::SUCCESS)
}
