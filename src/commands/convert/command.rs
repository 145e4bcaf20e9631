//! Flags in, converted objects out.

use std::process::ExitCode;

use clap::Args;

use super::converted::{Converted, convert};
use super::explain;
use crate::commands::format::Format;
use crate::commands::input::{Document, FileArgs};
use crate::commands::json::Json;
use crate::commands::kinds_dir::{KindsArgs, kind_of};
use crate::commands::output;

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
    let converted = args.files.decide(EXAMPLE, |object| {
        match args.keep_unknown && kind_of(&webhook, object).is_err() {
            true => Converted::unchanged(object),
            false => convert(&webhook, object, &args.to, args.explain),
        }
    })?;
    let Some(converted) = converted else {
        return Ok(ExitCode::FAILURE);
    };
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

fn result(args: &ConvertArgs, converted: Vec<(Document, Vec<Converted>)>) -> String {
    let values = converted.into_iter().filter_map(|(document, mut done)| match document {
        Document::One(_) => done.pop().map(|done| done.object),
        Document::List { mut list, items } => {
            // A typed list says the version once more.
            let version = list.get("apiVersion").and_then(Json::as_str).map(str::to_owned);
            let first = items
                .iter()
                .zip(&done)
                .find(|(object, _)| Some(&object.api_version) == version.as_ref());
            if let Some(version) = first.and_then(|(_, done)| done.object.get("apiVersion")) {
                list.set("apiVersion", version.clone());
            }
            list.set("items", Json::Array(done.into_iter().map(|done| done.object).collect()));
            Some(list)
        }
    });
    args.output.write_all(values.collect())
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
