//! `pointsman mutate`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::{FactValue, KnownFacts, PatchOperation, Webhook};
use pointsman_core::{did_you_mean, pointer_names};

use super::json_patch::patched;
use super::output::{self, complain, warn};
use super::requests::{OfflineArgs, OfflineRequest};
use super::{format::TextFormat, input::InputObject, json_tree::JsonTree, usage::Usage, yaml};
use crate::terminal::escaped;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MutateArgs {
    /// Output format: a diff, or the JSON Patch of each object.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    /// Print the resulting objects instead of the changes.
    #[arg(long)]
    whole: bool,
    /// Whether the fact of a mutation is true, for objects with mutations. One for each mutation that applies to them.
    #[arg(long = "fact", value_name = "MUTATION=true|false", value_parser = fact)]
    facts: Vec<(String, FactValue)>,
    #[command(flatten)]
    offline: OfflineArgs,
}

fn fact(text: &str) -> Result<(String, FactValue), &'static str> {
    match text.split_once('=') {
        Some((mutation, "true")) => Ok((mutation.to_owned(), FactValue::True)),
        Some((mutation, "false")) => Ok((mutation.to_owned(), FactValue::False)),
        _ => Err("write the name of a mutation, and =true or =false"),
    }
}

/// Prints patches.
pub(crate) fn run(args: &MutateArgs) -> anyhow::Result<ExitCode> {
    let webhook = args.offline.webhook()?;
    let facts = known(&args.facts, &webhook)?;
    let Some(all) = args.offline.request.read(EXAMPLE)? else {
        return Ok(ExitCode::FAILURE);
    };
    let (mut good, mut values) = (true, Vec::new());
    for request in all {
        match patch(&webhook, &facts, &request) {
            Ok((patch, warnings)) => {
                let label = request.object.label();
                warnings.iter().for_each(|warning| warn(&format!("{label}: {warning}")));
                let name = request.object.name();
                values.push(match args.whole {
                    true => {
                        let whole = patched(JsonTree::from_json(&request.object.text)?, &patch)?;
                        (yaml::write(&whole), whole)
                    }
                    false => (diff(&escaped(&name), &patch), json(&name, &patch)?),
                });
            }
            Err(error) => {
                good = false;
                complain(&error);
            }
        }
    }
    output::data(&match (args.whole, args.output) {
        (true, TextFormat::Text) => TextFormat::Yaml.write_all(values),
        (_, output) => output.write_all(values),
    })?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Parses facts. An unknown mutation or a duplicate is an error.
fn known(given: &[(String, FactValue)], webhook: &Webhook) -> Result<KnownFacts, Usage> {
    let mutations: Vec<&str> = webhook.mutated().iter().flat_map(|mutated| mutated.mutations()).collect();
    let mut facts = KnownFacts::default();
    for (at, (mutation, is)) in given.iter().enumerate() {
        if !mutations.contains(&mutation.as_str()) {
            let meant = did_you_mean(mutation, mutations.iter().copied());
            let known = if mutations.is_empty() { "none".to_owned() } else { mutations.join(", ") };
            return Err(Usage(format!(
                "--fact {mutation}: no mutation has this name{meant}; known mutations: {known}"
            )));
        }
        if given.iter().take(at).any(|(other, _)| other == mutation) {
            return Err(Usage(format!("--fact {mutation}: is given twice")));
        }
        facts.set(mutation, *is);
    }
    Ok(facts)
}

/// The changes of an object, and the warnings for its author.
fn patch(
    webhook: &Webhook,
    facts: &KnownFacts,
    request: &OfflineRequest,
) -> Result<(Vec<PatchOperation>, Vec<String>), String> {
    let (object, label) = (&request.object, request.object.label());
    let old = request.old.as_ref().map(|old| old.text.as_str());
    match webhook.mutation(&object.text, old, facts) {
        Ok(Some(Ok(mutated))) => Ok(mutated),
        Ok(Some(Err(unknown))) => {
            let mutation = &unknown.mutation;
            Err(format!("{label}: {unknown}: set --fact {mutation}=true or --fact {mutation}=false"))
        }
        Ok(None) => webhook.stamp(&object.text, old).map_err(|error| format!("{label}: {error}")),
        Err(error) => Err(format!("{label}: {error}")),
    }
}

/// The changes and warnings of a creation.
pub(crate) fn stamps(webhook: &Webhook, object: &InputObject) -> Result<Vec<String>, String> {
    let (patch, warnings) =
        webhook.stamp(&object.text, None).map_err(|error| format!("{}: {error}", object.label()))?;
    let warnings = warnings.into_iter().map(|warning| format!("warning: {warning}"));
    Ok(lines(&patch).chain(warnings).collect())
}

fn diff(name: &str, patch: &[PatchOperation]) -> String {
    match patch {
        [] => format!("{name}: no changes\n"),
        patch => lines(patch).fold(format!("{name}:\n"), |text, line| text + &line + "\n"),
    }
}

/// A line for each change: `+` for an addition, `~` for a replacement, `-` for a removal.
fn lines(patch: &[PatchOperation]) -> impl Iterator<Item = String> {
    patch.iter().filter(|operation| operation.value != "{}").map(|operation| {
        let path = escaped(&pointer_names(&operation.path).join("."));
        match operation.op {
            "add" => format!("+ {path}: {}", operation.value),
            "remove" => format!("- {path}"),
            _ => format!("~ {path}: {}", operation.value),
        }
    })
}

fn json(name: &str, patch: &[PatchOperation]) -> anyhow::Result<JsonTree> {
    let operations = patch.iter().map(|operation| {
        let mut one =
            JsonTree::object([("op", JsonTree::string(operation.op)), ("path", JsonTree::string(&operation.path))]);
        if !operation.value.is_empty() {
            one.set("value", JsonTree::from_json(&operation.value)?);
        }
        Ok(one)
    });
    Ok(JsonTree::object([
        ("object", JsonTree::string(name)),
        ("patch", JsonTree::Array(operations.collect::<anyhow::Result<_>>()?)),
    ]))
}

const EXAMPLE: &str = "pointsman mutate -f manifests/examples/v1alpha2.yaml";

const EXAMPLES: &str = "\
Examples:
  Stamp a new object:
    pointsman mutate -f manifests/examples/v1alpha2.yaml \\
      --controller-version 2.17.0 --default-version

  The JSON Patch of an update:
    pointsman mutate -f manifests/examples/v1alpha1.yaml \\
      --old manifests/examples/v1alpha1.yaml -o json

  Apply a mutation whose fact is true:
    pointsman mutate --kinds manifests/examples/gardener --fact csi=true \\
      -f manifests/examples/gardener/kube-controller-manager.yaml

Exit codes:
  0  printed
  1  an object could not be read, or the value of a fact is missing
  2  the flags are wrong";
