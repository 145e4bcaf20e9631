//! Flags in, converted objects out.

use std::process::ExitCode;

use clap::Args;

use super::conversion_result::{ConversionResult, convert};
use super::explain;
use crate::commands::input::{Decided, Document, FileArgs};
use crate::commands::kinds_dir::{KindsArgs, kind_of};
use crate::commands::{format::Format, json_tree::JsonTree, output};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
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

/// Converts objects as the webhook does. All of them, or none is written.
pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<ExitCode> {
    let webhook = args.kinds.webhook()?;
    let converted =
        args.files.decide(EXAMPLE, |object| match args.keep_unknown && kind_of(&webhook, object).is_err() {
            true => ConversionResult::unchanged(object),
            false => convert(&webhook, object, &args.to, args.explain),
        })?;
    let Some(converted) = converted else {
        return Ok(ExitCode::FAILURE);
    };
    let text = if args.explain && args.output == Format::Json {
        explain::json(&converted)
    } else {
        if args.explain {
            explain::tell(&converted);
        }
        result(args.output, converted)
    };
    output::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What was converted, in the documents it came in.
fn result(format: Format, converted: Vec<Decided<ConversionResult>>) -> String {
    let values = converted.into_iter().filter_map(|Decided { document, mut results }| {
        let Document::List { mut list, items } = document else {
            return results.pop().map(|converted| converted.object);
        };
        // A typed list says the version once more.
        let version = list.get("apiVersion").and_then(JsonTree::as_str).map(str::to_owned);
        let mut pairs = items.iter().zip(&results);
        let first = pairs.find(|(object, _)| Some(&object.api_version) == version.as_ref());
        if let Some(version) = first.and_then(|(_, to)| to.object.get("apiVersion")) {
            list.set("apiVersion", version.clone());
        }
        let objects = results.into_iter().map(|converted| converted.object);
        list.set("items", JsonTree::Array(objects.collect()));
        Some(list)
    });
    format.write_all(values.collect())
}

const EXAMPLE: &str = "kubectl get materializes -A -o yaml | pointsman convert --to v1alpha2";

const EXAMPLES: &str = "\
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
