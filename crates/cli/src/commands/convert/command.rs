//! The `convert` command.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition::Kind;
use pointsman_core::did_you_mean;
use pointsman_core::webhook::{Facts, Webhook};

use super::conversion_result::{ConversionResult, ConversionWish, convert};
use super::explain;
use crate::commands::input::{Decided, Document, FileArgs, InputObject};
use crate::commands::kinds_dir::{KindsArgs, kind_of};
use crate::commands::{format::Format, json_tree::JsonTree, output, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConvertArgs {
    /// Target version, such as v1alpha2, or the kind that replaces the object, in kubectl syntax, such as mattermosts
    /// or mattermosts.v1beta1.installation.mattermost.com.
    #[arg(long, value_name = "VERSION|KIND")]
    to: String,
    /// A fact for a kind conversion that is not part of the objects. It applies to every object in the input. Can be
    /// repeated, once for each fact.
    #[arg(long = "fact", value_name = "NAME=true|false")]
    facts: Vec<String>,
    #[command(flatten)]
    files: FileArgs,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    /// Show the changed fields of each operation, and the values that were kept in an annotation or restored. With -o
    /// yaml as a table on stderr, with -o json next to each object, as `{items: [{object, changes}]}`.
    #[arg(long)]
    explain: bool,
    /// Copy objects of unknown kinds unchanged, instead of failing.
    #[arg(long)]
    keep_unknown: bool,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Converts objects as the webhook does. Writes either all objects or none.
pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<ExitCode> {
    let webhook = args.kinds.webhook()?;
    let facts = facts(&args.facts, &webhook)?;
    let wanted = ConversionWish { to: &args.to, facts: &facts, explain: args.explain };
    let is_known = |object: &InputObject| kind_of(&webhook, object).is_ok() || replaces_another(&webhook, object);
    let converted = args.files.decide(EXAMPLE, |object| match args.keep_unknown && !is_known(object) {
        true => ConversionResult::unchanged(object),
        false => convert(&webhook, object, &wanted).map_err(|message| match is_known(object) {
            true => message,
            false => format!("{message}, or copy objects of other kinds unchanged with --keep-unknown"),
        }),
    })?;
    let Some(converted) = converted else {
        return Ok(ExitCode::FAILURE);
    };
    let text = if args.explain && args.output == Format::Json {
        explain::json(&converted)
    } else {
        if args.explain {
            explain::print_changes(&converted);
        }
        result(args.output, converted)
    };
    output::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns whether objects of this kind can be replaced by another kind.
fn replaces_another(webhook: &Webhook, object: &InputObject) -> bool {
    let mut all = webhook.kinds().iter().filter_map(Kind::becoming);
    all.any(|becoming| (becoming.source_group(), becoming.source_kind()) == (object.group(), object.kind.as_str()))
}

/// Parses facts. A fact without a definition, an invalid value or a duplicate is an error.
fn facts(given: &[String], webhook: &Webhook) -> anyhow::Result<Facts> {
    let mut known: Vec<&str> =
        webhook.kinds().iter().filter_map(Kind::becoming).flat_map(|becoming| becoming.facts()).collect();
    known.sort_unstable();
    let mut facts = BTreeMap::new();
    for fact in given {
        let Some((name, value)) = fact.split_once('=') else {
            return Err(Usage(format!("--fact {fact}: is not of the form NAME=true or NAME=false")).into());
        };
        if !known.contains(&name) {
            let meant = did_you_mean(name, known.iter().copied());
            let all = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Usage(format!("--fact {name}: unknown to every definition{meant}; known facts: {all}")).into());
        }
        if !matches!(value, "true" | "false") {
            let message = format!("--fact {fact}: a fact is true or false, not {value:?}: write --fact {name}=true");
            return Err(Usage(format!("{message} or --fact {name}=false")).into());
        }
        if facts.insert(name, value).is_some() {
            return Err(Usage(format!("--fact {fact}: {name} is given twice")).into());
        }
    }
    Ok(facts.into_iter().collect())
}

/// The converted objects in their original documents.
fn result(format: Format, converted: Vec<Decided<ConversionResult>>) -> String {
    let values = converted.into_iter().filter_map(|Decided { document, mut results }| {
        let Document::List { mut list, items } = document else {
            return results.pop().map(|converted| converted.object);
        };
        // A typed list also contains the version.
        let version = list.get("apiVersion").and_then(JsonTree::as_str).map(str::to_owned);
        let mut pairs = items.iter().zip(&results);
        let first = pairs.find(|(object, _)| Some(&object.api_version) == version.as_ref());
        if let Some((from, to)) = first {
            let is_typed = list.get("kind").and_then(JsonTree::as_str) == Some(format!("{}List", from.kind).as_str());
            let kind = to.object.get("kind").and_then(JsonTree::as_str).filter(|_| is_typed);
            let kind = kind.map(|kind| JsonTree::string(format!("{kind}List")));
            for (name, value) in [("apiVersion", to.object.get("apiVersion").cloned()), ("kind", kind)] {
                if let Some(value) = value {
                    list.set(name, value);
                }
            }
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

  Convert the objects of a cluster, and explain each change:
    kubectl get materializes -A -o yaml |
      pointsman convert --to v1alpha1 --explain

  The same as JSON:
    pointsman convert --to v1alpha2 -f manifests/examples/v1alpha1.yaml \\
      --explain -o json

  Convert to the kind that replaces this one, with the value of a fact:
    pointsman convert --kinds examples/kinds/mattermost \\
      --to mattermosts --fact externalDatabase=true \\
      -f manifests/examples/mattermost/clusterinstallation.yaml

  Convert all manifests of a directory, and keep other kinds unchanged:
    pointsman convert --to v1alpha2 -f manifests/examples --keep-unknown

No value is lost: pointsman keeps the fields that a version does not have in an
annotation, and restores them when you convert back. An object whose kept fields
exceed the size of an annotation is refused.

Exit codes:
  0  all objects were converted
  1  an object was refused; the output is empty
  2  the flags are wrong";
