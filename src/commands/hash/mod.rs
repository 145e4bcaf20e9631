//! `pointsman hash`.

mod diff;

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use pointsman_core::webhook::{HASH_SCHEMA, Preimage, Webhook};

use super::convert::unknown;
use super::input::{FileArgs, Object, documents};
use super::kinds_dir::KindsArgs;
use super::node::Node;
use super::output::{self, Format, complain, talk};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct HashArgs {
    #[command(subcommand)]
    command: Option<HashCommand>,
    #[command(flatten)]
    files: FileArgs,
    /// Say what the hash is made of.
    #[arg(long)]
    explain: bool,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = HashFormat::Text)]
    output: HashFormat,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Debug, Subcommand)]
enum HashCommand {
    /// Say which fields give two objects different hashes.
    #[command(after_help = diff::EXAMPLES)]
    Diff(diff::DiffArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HashFormat {
    /// One JSON document.
    Json,
    /// A hash and a name on each line, as sha256sum prints them.
    Text,
    /// YAML.
    Yaml,
}

impl HashFormat {
    /// The form for programs, if it is one.
    pub(crate) fn structured(self) -> Option<Format> {
        match self {
            Self::Json => Some(Format::Json),
            Self::Text => None,
            Self::Yaml => Some(Format::Yaml),
        }
    }
}

/// An object and what its hash is made of.
struct Hashed {
    object: Object,
    preimage: Preimage,
    /// The version whose shape is hashed.
    at: String,
}

/// Prints rollout hashes.
pub(crate) fn run(args: &HashArgs) -> anyhow::Result<ExitCode> {
    if let Some(HashCommand::Diff(args)) = &args.command {
        return diff::run(args);
    }
    let webhook = args.kinds.webhook()?;
    let (mut hashed, mut refused) = (Vec::new(), 0);
    for source in args.files.read(EXAMPLE)? {
        for one in documents(&source).map_or_else(
            |messages| messages.into_iter().map(Err).collect::<Vec<_>>(),
            |documents| {
                documents
                    .into_iter()
                    .flat_map(|document| document.into_objects())
                    .map(|o| one(&webhook, o))
                    .collect()
            },
        ) {
            match one {
                Ok(one) => hashed.push(one),
                Err(message) => {
                    refused += 1;
                    complain(&message);
                }
            }
        }
    }
    if refused > 0 {
        talk(&format!(
            "{refused} of {} objects refused; nothing was written",
            refused + hashed.len()
        ));
        return Ok(ExitCode::FAILURE);
    }
    output::data(&match args.output {
        HashFormat::Json => {
            Format::Json.write_all(hashed.iter().map(|hashed| node(hashed, args.explain)).collect())
        }
        HashFormat::Text => hashed.iter().map(|hashed| text(hashed, args.explain)).collect(),
        HashFormat::Yaml => {
            Format::Yaml.write_all(hashed.iter().map(|hashed| node(hashed, args.explain)).collect())
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn one(webhook: &Webhook, object: Object) -> Result<Hashed, String> {
    let kind = webhook
        .kinds()
        .iter()
        .find(|kind| kind.kind() == object.kind && kind.group() == object.group());
    let Some(kind) = kind else {
        return Err(unknown(webhook, &object));
    };
    let Some(at) = kind.hash_version() else {
        return Err(format!(
            "{}: {} has no rollout hash: its definition has no `rollout`",
            object.label(),
            kind.kind()
        ));
    };
    let preimage =
        webhook.preimage(&object.text).map_err(|error| format!("{}: {error}", object.label()))?;
    Ok(Hashed { at: at.to_owned(), object, preimage })
}

fn text(hashed: &Hashed, explain: bool) -> String {
    let Hashed { object, preimage, at } = hashed;
    let mut text = format!("{}  {}\n", preimage.hash(), object.name());
    if explain {
        text.push_str(&format!("  made of these fields at {at}, by recipe {HASH_SCHEMA}:\n"));
        let rows: Vec<[String; 2]> =
            preimage.members().into_iter().map(|(name, value)| [name, value]).collect();
        for line in output::table(["FIELD", "VALUE"], &rows).lines() {
            text.push_str(&format!("    {line}\n"));
        }
        text.push_str(&format!(
            "  and of the annotation that forces a rollout: {}\n",
            preimage.force.as_deref().unwrap_or("not set")
        ));
        text.push_str(&format!(
            "  canonical form: {}{}\n",
            preimage.canonical,
            preimage.force.as_deref().unwrap_or_default()
        ));
    }
    text
}

fn node(hashed: &Hashed, explain: bool) -> Node {
    let Hashed { object, preimage, at } = hashed;
    let optional = |text: &Option<String>| text.as_ref().map_or(Node::Null, Node::text);
    let mut node = Node::map([
        ("apiVersion", Node::text(&object.api_version)),
        ("kind", Node::text(&object.kind)),
        ("namespace", optional(&object.namespace)),
        ("name", optional(&object.name)),
        ("hash", Node::text(preimage.hash())),
        ("recipe", Node::text(HASH_SCHEMA)),
    ]);
    if explain {
        let members = preimage.members().into_iter().map(|(name, value)| {
            let value = Node::from_json(&value).unwrap_or_else(|_| Node::text(value));
            (name, value)
        });
        node.set("at", Node::text(at));
        node.set("fields", Node::Map(members.collect()));
        node.set("force", optional(&preimage.force));
        node.set("canonical", Node::text(&preimage.canonical));
    }
    node
}

const EXAMPLE: &str = "kubectl get materializes -A -o yaml | pointsman hash";

pub(crate) const EXAMPLES: &str = "\
Examples:
  The hash of a manifest, in any version:
    pointsman hash -f manifests/examples/v1alpha1.yaml

  What it is made of:
    pointsman hash --explain -f manifests/examples/v1alpha1.yaml

  The hashes of all objects in a cluster, for a program:
    kubectl get materializes -A -o yaml | pointsman hash -o json

  Why two objects differ:
    pointsman hash diff manifests/examples/v1alpha1.yaml \\
      manifests/examples/v1alpha2.yaml

Exit codes:
  0  all objects have a hash
  1  one was refused, and nothing was written
  2  the flags are wrong";
