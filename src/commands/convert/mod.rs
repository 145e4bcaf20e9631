//! `pointsman convert`.

mod explain;

use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::{Change, Webhook};

use super::input::{Document, FileArgs, Object, documents};
use super::kinds_dir::KindsArgs;
use super::node::Node;
use super::output::{self, Format, complain, talk};

#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// Version to convert to, such as v1alpha2.
    #[arg(long, value_name = "VERSION")]
    to: String,
    #[command(flatten)]
    files: FileArgs,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    /// Say for each field that changed which operation did it, and what was kept in an annotation or given back. With
    /// -o yaml as a table on stderr; with -o json beside each object, as `{items: [{object, changes}]}`.
    #[arg(long)]
    explain: bool,
    /// Pass objects of unknown kinds through as they are, instead of refusing them.
    #[arg(long)]
    keep_unknown: bool,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// An object after conversion.
struct Done {
    node: Node,
    changes: Vec<Change>,
}

/// Converts objects as the webhook does. All of them, or none is written.
pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<ExitCode> {
    let webhook = args.kinds.webhook()?;
    let mut converted = Vec::new();
    let (mut refused, mut all) = (0, 0);
    for source in args.files.read(EXAMPLE)? {
        let documents = match documents(&source) {
            Ok(documents) => documents,
            Err(messages) => {
                (refused, all) = (refused + messages.len(), all + messages.len());
                messages.iter().for_each(|message| complain(message));
                continue;
            }
        };
        for document in documents {
            let mut done = Vec::new();
            for object in document.objects() {
                all += 1;
                match one(args, &webhook, object) {
                    Ok(one) => done.push(one),
                    Err(message) => {
                        refused += 1;
                        complain(&message);
                    }
                }
            }
            converted.push((document, done));
        }
    }
    if refused > 0 {
        talk(&format!("{refused} of {all} objects refused; nothing was written"));
        return Ok(ExitCode::FAILURE);
    }
    let text = match (args.explain, args.output) {
        (true, Format::Json) => explain::json(&converted),
        (true, Format::Yaml) => {
            converted.iter().for_each(|(document, done)| explain::table(document, done));
            result(args, converted)
        }
        (false, _) => result(args, converted),
    };
    output::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn one(args: &ConvertArgs, webhook: &Webhook, object: &Object) -> Result<Done, String> {
    let kind = webhook
        .kinds()
        .iter()
        .find(|kind| kind.kind() == object.kind && kind.group() == object.group());
    let Some(kind) = kind else {
        if args.keep_unknown {
            let node = Node::from_json(&object.text)
                .map_err(|error| format!("{}: {error}", object.label()))?;
            return Ok(Done { node, changes: Vec::new() });
        }
        return Err(unknown(webhook, object));
    };
    // As in `kubectl convert --output-version`, the group may stand before the version.
    let to = args
        .to
        .strip_prefix(kind.group())
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(&args.to);
    if !kind.versions().any(|version| version == to) {
        let known: Vec<&str> = kind.versions().collect();
        return Err(format!(
            "{}: --to {}: {} has {}",
            object.label(),
            args.to,
            kind.kind(),
            known.join(", ")
        ));
    }
    let (converted, changes) = match args.explain {
        true => webhook.explain(&object.text, to),
        false => webhook.convert(&object.text, to).map(|converted| (converted, Vec::new())),
    }
    .map_err(|error| format!("{}: {error}", object.label()))?;
    let node =
        Node::from_json(&converted.text).map_err(|error| format!("{}: {error}", object.label()))?;
    Ok(Done { node, changes })
}

/// Names the kinds that are known, and the way to teach others.
pub(super) fn unknown(webhook: &Webhook, object: &Object) -> String {
    let known: Vec<String> =
        webhook.kinds().iter().map(|kind| format!("{}.{}", kind.kind(), kind.group())).collect();
    format!(
        "{}: no definition of {} {}; known are {}. Give the directory of its definition with --kinds",
        object.label(),
        object.api_version,
        object.kind,
        known.join(", "),
    )
}

fn result(args: &ConvertArgs, converted: Vec<(Document, Vec<Done>)>) -> String {
    let nodes = converted.into_iter().filter_map(|(document, mut done)| match document {
        Document::One(_) => done.pop().map(|done| done.node),
        Document::List { mut list, items } => {
            // A typed list says the version once more.
            let version = list.get("apiVersion").and_then(Node::as_str).map(str::to_owned);
            let first = items
                .iter()
                .zip(&done)
                .find(|(object, _)| Some(&object.api_version) == version.as_ref());
            if let Some(version) = first.and_then(|(_, done)| done.node.get("apiVersion")) {
                list.set("apiVersion", version.clone());
            }
            list.set("items", Node::List(done.into_iter().map(|done| done.node).collect()));
            Some(list)
        }
    });
    args.output.write_all(nodes.collect())
}

const EXAMPLE: &str = "kubectl get materializes -A -o yaml | pointsman convert --to v1alpha2";

pub(crate) const EXAMPLES: &str = "\
Examples:
  Convert a manifest:
    pointsman convert --to v1alpha2 -f manifests/examples/v1alpha1.yaml

  See what would become of the objects in a cluster, and which change did what:
    kubectl get materializes -A -o yaml |
      pointsman convert --to v1alpha1 --explain

  The same for a program:
    pointsman convert --to v1alpha2 -f manifests/examples/v1alpha1.yaml \\
      --explain -o json

  All manifests of a directory, other kinds as they are:
    pointsman convert --to v1alpha2 -f manifests/examples --keep-unknown

Nothing is lost: what a version cannot say is kept in an annotation, and comes
back on the way home.

Exit codes:
  0  all objects were converted
  1  one was refused, and nothing was written
  2  the flags are wrong";
