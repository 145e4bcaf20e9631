//! The `hash` command.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pointsman_core::webhook::{HASH_SCHEMA, Webhook};

use super::diff;
use super::preimages::{Hashed, hash};
use super::stale::{Stamped, stamped};
use crate::commands::input::{FileArgs, InputObject};
use crate::commands::table::{shortened, table};
use crate::commands::{format::TextFormat, json_tree::JsonTree, kinds_dir::KindsArgs, output};
use crate::terminal::escaped;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct HashArgs {
    #[command(subcommand)]
    command: Option<HashCommand>,
    #[command(flatten)]
    files: FileArgs,
    /// Print the input of the hash.
    #[arg(long)]
    explain: bool,
    /// Only objects with a missing or different hash annotation, which were written without /mutate. Prints the
    /// annotation and the hash of each.
    #[arg(long, conflicts_with = "explain")]
    stale: bool,
    /// Output format. Text is a hash and a name on each line, as in sha256sum.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Debug, Subcommand)]
enum HashCommand {
    /// Show the fields that give two objects different hashes.
    Diff(diff::DiffArgs),
}

/// Prints rollout hashes.
pub(crate) fn run(args: &HashArgs) -> anyhow::Result<ExitCode> {
    if let Some(HashCommand::Diff(args)) = &args.command {
        return diff::run(args);
    }
    let webhook = args.kinds.webhook()?;
    if args.stale {
        return stale(args, &webhook);
    }
    let Some(hashed) = args.files.decide(EXAMPLE, |object| hash(&webhook, object))? else {
        return Ok(ExitCode::FAILURE);
    };
    let hashed = hashed.iter().flat_map(|decided| decided.document.objects().iter().zip(&decided.results));
    let values =
        hashed.map(|(object, hashed)| (text(object, hashed, args.explain), json(object, hashed, args.explain)));
    output::data(&args.output.write_all(values.collect()))?;
    Ok(ExitCode::SUCCESS)
}

/// Lists stale objects. As in grep(1), the exit code is 1 if there are findings.
fn stale(args: &HashArgs, webhook: &Webhook) -> anyhow::Result<ExitCode> {
    let Some(decided) = args.files.decide(EXAMPLE, |object| stamped(webhook, object))? else {
        return Ok(ExitCode::FAILURE);
    };
    let all = decided.iter().flat_map(|decided| decided.document.objects().iter().zip(&decided.results));
    let stale: Vec<(&InputObject, &Stamped)> = all.filter(|(_, stamped)| stamped.is_stale()).collect();
    let row = |(object, stamped): &(&InputObject, &Stamped)| {
        let hash = stamped.hashed.preimage.hash();
        // Any client can write the annotation, so it is shortened to the length of a hash.
        let stamp = stamped.stamp.as_ref().map_or_else(|| "none".to_owned(), |stamp| shortened(stamp, hash.len()));
        [object.name(), stamp, hash]
    };
    let is_fine = stale.is_empty();
    match args.output {
        TextFormat::Text if is_fine => output::text("every stamp matches the hash of its object\n")?,
        TextFormat::Text => {
            let rows: Vec<[String; 3]> = stale.iter().map(row).collect();
            output::text(&table(["OBJECT", "STAMPED", "HASH"], &rows))?;
        }
        format => {
            let values = stale.iter().map(|(object, stamped)| {
                let mut value = json(object, &stamped.hashed, false);
                value.set("stamped", stamped.stamp.as_ref().map_or(JsonTree::Null, JsonTree::string));
                (String::new(), value)
            });
            output::data(&format.write_all(values.collect()))?;
        }
    }
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(object: &InputObject, hashed: &Hashed, explain: bool) -> String {
    let Hashed { preimage, version, recipe } = hashed;
    let mut text = format!("{}  {}\n", preimage.hash(), escaped(&object.name()));
    if explain {
        text.push_str(&format!(
            "  the hash covers these fields at {version}, by recipe {HASH_SCHEMA}, {recipe} of the definition:\n"
        ));
        let rows: Vec<[String; 2]> = preimage.members().into_iter().map(|(name, value)| [name, value]).collect();
        for line in table(["FIELD", "VALUE"], &rows).lines() {
            text.push_str(&format!("    {line}\n"));
        }
        text.push_str(&format!(
            "  and the annotation that forces a rollout: {}\n",
            preimage.force.as_deref().map_or_else(|| "not set".to_owned(), escaped)
        ));
        text.push_str(&format!(
            "  canonical form: {}{}\n",
            preimage.canonical,
            preimage.force.as_deref().map(escaped).unwrap_or_default()
        ));
    }
    text
}

fn json(object: &InputObject, hashed: &Hashed, explain: bool) -> JsonTree {
    let Hashed { preimage, version, recipe } = hashed;
    let optional = |text: &Option<String>| text.as_ref().map_or(JsonTree::Null, JsonTree::string);
    let mut json = JsonTree::object([
        ("apiVersion", JsonTree::string(&object.api_version)),
        ("kind", JsonTree::string(&object.kind)),
        ("namespace", optional(&object.namespace)),
        ("name", optional(&object.name)),
        ("hash", JsonTree::string(preimage.hash())),
        ("recipe", JsonTree::string(HASH_SCHEMA)),
    ]);
    if explain {
        let members = preimage.members().into_iter().map(|(name, value)| {
            let value = JsonTree::from_json(&value).unwrap_or_else(|_| JsonTree::string(value));
            (name, value)
        });
        json.set("at", JsonTree::string(version));
        json.set("definition", JsonTree::string(recipe));
        json.set("fields", JsonTree::Object(members.collect()));
        json.set("force", optional(&preimage.force));
        json.set("canonical", JsonTree::string(&preimage.canonical));
    }
    json
}

const EXAMPLE: &str = "kubectl get materializes -A -o yaml | pointsman hash";

const EXAMPLES: &str = "\
Examples:
  The hash of a manifest, in any version:
    pointsman hash -f manifests/examples/v1alpha1.yaml

  List the fields that the hash covers:
    pointsman hash --explain -f manifests/examples/v1alpha1.yaml

  The hashes of all objects in a cluster, as JSON:
    kubectl get materializes -A -o yaml | pointsman hash -o json

  Find objects that were written without /mutate, so that their stamp is stale:
    kubectl get materializes -A -o yaml | pointsman hash --stale ||
      echo 'the next write of each object stamps it again'

  Explain why the hashes of two objects differ:
    pointsman hash diff manifests/examples/v1alpha1.yaml \\
      manifests/examples/v1alpha2.yaml

Exit codes:
  0  all objects have a hash
  1  an object was refused, without output; or --stale found a stale stamp
  2  the flags are wrong";
