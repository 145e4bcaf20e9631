//! `pointsman mutate`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::PatchOperation;

use super::hash::HashFormat as Form;
use super::kinds_dir::KindsArgs;
use super::node::Node;
use super::output::{self, complain};
use super::written::WrittenArgs;
use crate::cli::AdmissionArgs;

#[derive(Args, Debug)]
pub(crate) struct MutateArgs {
    #[command(flatten)]
    written: WrittenArgs,
    #[command(flatten)]
    admission: AdmissionArgs,
    /// Form of the result: a diff, or the JSON Patch of each object.
    #[arg(short, long, value_enum, default_value_t = Form::Text)]
    output: Form,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints patches.
pub(crate) fn run(args: &MutateArgs) -> anyhow::Result<ExitCode> {
    let webhook = args.kinds.webhook()?.admitting(args.admission.settings());
    let Some(all) = args.written.read(EXAMPLE)? else {
        return Ok(ExitCode::FAILURE);
    };
    let (mut good, mut text, mut nodes) = (true, String::new(), Vec::new());
    for written in all {
        match webhook.patch(&written.new.text, written.old.as_ref().map(|old| old.text.as_str())) {
            Ok(patch) => {
                text.push_str(&diff(&written.new.name(), &patch));
                nodes.push(node(&written.new.name(), &patch)?);
            }
            Err(error) => {
                good = false;
                complain(&format!("{}: {error}", written.new.label()));
            }
        }
    }
    output::data(&match args.output.structured() {
        Some(format) => format.write_all(nodes),
        None => text,
    })?;
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
        let path: Vec<String> = operation
            .path
            .split('/')
            .skip(1)
            .map(|name| name.replace("~1", "/").replace("~0", "~"))
            .collect();
        text.push_str(&format!("{sign} {}: {}\n", path.join("."), operation.value));
    }
    text
}

fn node(name: &str, patch: &[PatchOperation]) -> anyhow::Result<Node> {
    let operations = patch.iter().map(|operation| {
        Ok(Node::map([
            ("op", Node::text(operation.op)),
            ("path", Node::text(&operation.path)),
            ("value", Node::from_json(&operation.value)?),
        ]))
    });
    Ok(Node::map([
        ("object", Node::text(name)),
        ("patch", Node::List(operations.collect::<anyhow::Result<_>>()?)),
    ]))
}

const EXAMPLE: &str = "pointsman mutate -f manifests/examples/v1alpha2.yaml";

pub(crate) const EXAMPLES: &str = "\
Examples:
  What a new object is stamped with:
    pointsman mutate -f manifests/examples/v1alpha2.yaml \\
      --controller-version 2.17.0 --default-version

  The JSON Patch of an update:
    pointsman mutate -f manifests/examples/v1alpha1.yaml \\
      --old manifests/examples/v1alpha1.yaml -o json

Exit codes:
  0 printed, 1 an object could not be read, 2 the flags are wrong.";
