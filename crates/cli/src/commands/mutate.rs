//! `pointsman mutate`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::{PatchOperation, Webhook};

use super::output::{self, complain, warn};
use super::{format::TextFormat, input::InputObject, json_tree::JsonTree, requests::OfflineArgs};
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

/// What a creation would be stamped with, and warned of.
pub(crate) fn stamps(webhook: &Webhook, object: &InputObject) -> Result<Vec<String>, String> {
    let (patch, warnings) =
        webhook.stamp(&object.text, None).map_err(|error| format!("{}: {error}", object.label()))?;
    let warnings = warnings.into_iter().map(|warning| format!("warning: {warning}"));
    Ok(lines(&patch).chain(warnings).collect())
}

fn diff(name: &str, patch: &[PatchOperation]) -> String {
    match patch {
        [] => format!("{name}: right as it is\n"),
        patch => lines(patch).fold(format!("{name}:\n"), |text, line| text + &line + "\n"),
    }
}

/// A line for each change: `+` for what is added, `~` for what is replaced.
fn lines(patch: &[PatchOperation]) -> impl Iterator<Item = String> {
    patch.iter().filter(|operation| operation.value != "{}").map(|operation| {
        let sign = if operation.op == "add" { '+' } else { '~' };
        let path: Vec<String> =
            operation.path.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
        format!("{sign} {}: {}", escaped(&path.join(".")), operation.value)
    })
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
