//! `pointsman rollout lease`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::ControllerVersion;
use serde_json::json;

use crate::commands::format::Format;
use crate::commands::json_tree::JsonTree;
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output;

#[derive(Args, Debug)]
pub(crate) struct LeaseArgs {
    /// Kind, by any of its names.
    #[arg(value_name = "KIND")]
    kind: String,
    /// Controller version, as in the version label, such as 2.16.1.
    #[arg(value_name = "X.Y.Z")]
    controller: ControllerVersion,
    /// Output format. The default is the name alone.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints the name of the Lease of a controller version.
pub(super) fn lease(args: &LeaseArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let kind = &find(&all, &args.kind)?.kind;
    let Some((namespace, name)) = kind.controller_lease(args.controller.as_str()) else {
        anyhow::bail!("the definition of {} names no Lease: add `lease` under `admission`", kind.name());
    };
    match args.output {
        None => output::text(&format!("{name}\n"))?,
        Some(format) => {
            let value = json!({"namespace": namespace, "name": name});
            output::data(&format.write(&JsonTree::from_json(&value.to_string())?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
