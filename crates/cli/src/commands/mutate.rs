//! `pointsman mutate`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::PatchOperation;

use super::output::{self, complain, warn};
use super::{format::TextFormat, json_tree::JsonTree, requests::OfflineArgs};
use crate::terminal::escaped;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MutateArgs {
    /// Form of the result: a diff, or the JSON Patch of each object.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    #[command(flatten)]
    offline: OfflineArgs,
}

/// Prints patches.
pub(crate) fn run(args: &MutateArgs) -> anyhow::Result<ExitCode> {
    let webhook = args.offline.webhook()?;
    let Some(all) = args.offline.request.read(EXAMPLE)? else {
        return Ok(ExitCode::FAILURE);
    };
    let (mut good, mut values) = (true, Vec::new());
    for request in all {
        match webhook.stamp(&request.object.text, request.old.as_ref().map(|old| old.text.as_str())) {
            Ok((patch, warnings)) => {
                let label = request.object.label();
                warnings.iter().for_each(|warning| warn(&format!("{label}: {warning}")));
                let name = request.object.name();
                values.push((diff(&escaped(&name), &patch), json(&name, &patch)?));
            }
            Err(error) => {
                good = false;
                complain(&format!("{}: {error}", request.object.label()));
            }
        }
    }
    output::data(&args.output.write_all(values))?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A line for each change: `+` for what is added, `~` for what is replaced.
fn diff(name: &str, patch: &[PatchOperation]) -> String {
    if patch.is_empty() {
        return format!("{name}: right as it is\n");
    }
    let mut text = format!("{name}:\n");
    for operation in patch.iter().filter(|operation| operation.value != "{}") {
        let sign = if operation.op == "add" { '+' } else { '~' };
        let path: Vec<String> =
            operation.path.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
        text.push_str(&format!("{sign} {}: {}\n", escaped(&path.join(".")), operation.value));
    }
    text
}

fn json(name: &str, patch: &[PatchOperation]) -> anyhow::Result<JsonTree> {
    let operations = patch.iter().map(|operation| {
        Ok(JsonTree::object([
            ("op", JsonTree::string(operation.op)),
            ("path", JsonTree::string(&operation.path)),
            ("value", JsonTree::from_json(&operation.value)?),
        ]))
    });
    Ok(JsonTree::object([
        ("object", JsonTree::string(name)),
        ("patch", JsonTree::Array(operations.collect::<anyhow::Result<_>>()?)),
    ]))
}

const EXAMPLE: &str = "pointsman mutate -f manifests/examples/v1alpha2.yaml";

const EXAMPLES: &str = "\
Examples:
  What a new object is stamped with:
    pointsman mutate -f manifests/examples/v1alpha2.yaml \\
      --controller-version 2.17.0 --default-version

  The JSON Patch of an update:
    pointsman mutate -f manifests/examples/v1alpha1.yaml \\
      --old manifests/examples/v1alpha1.yaml -o json

Exit codes:
  0 printed, 1 an object could not be read, 2 the flags are wrong.";
