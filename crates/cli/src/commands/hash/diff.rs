//! `pointsman hash diff`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::Webhook;

use super::preimages::{Hashed, hash};
use crate::commands::input::{self, Document, InputObject, documents};
use crate::commands::json_tree::{JsonTree, quoted};
use crate::commands::table::{cell, table};
use crate::commands::{format::Format, kinds_dir::KindsArgs, output, usage::Usage};
use crate::terminal::{escaped, escaped_lines};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArgs {
    /// File with the first object. Use - for stdin.
    a: PathBuf,
    /// File with the second object. Use - for stdin.
    b: PathBuf,
    /// Output format. The default is a table.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Compares the inputs of two hashes. As in diff(1), errors have exit code 2, so that 1 means a difference.
pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    if args.a == Path::new("-") && args.b == Path::new("-") {
        return Err(Usage("stdin is readable only once: use a file for one of the two objects".to_owned()).into());
    }
    let trouble = |error: anyhow::Error| Usage(format!("{error:#}"));
    let webhook = args.kinds.webhook().map_err(trouble)?;
    let (a, b) = (read(&webhook, &args.a).map_err(trouble)?, read(&webhook, &args.b).map_err(trouble)?);
    if (&a.object.kind, a.object.group()) != (&b.object.kind, b.object.group()) {
        return Err(Usage(format!("{} and {} are of different kinds", a.object.label(), b.object.label())).into());
    }
    let differences = differences(fields(&a), fields(&b));
    let same = a.hashed.preimage.hash() == b.hashed.preimage.hash();
    output::data(&match args.output {
        Some(format) => format.write(&json(&a, &b, &differences)),
        None if same => format!("same hash: {}\n", a.hashed.preimage.hash()),
        None => escaped_lines(&text(&a, &b, &differences)),
    })?;
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One of the two objects.
struct HashedObject {
    object: InputObject,
    hashed: Hashed,
}

fn read(webhook: &Webhook, file: &Path) -> anyhow::Result<HashedObject> {
    let source = input::read(file)?;
    let documents = documents(&source).map_err(|messages| anyhow::anyhow!(messages.join("\n")))?;
    let mut objects: Vec<_> = documents.into_iter().flat_map(Document::into_objects).collect();
    match (objects.pop(), objects.len()) {
        (Some(object), 0) => {
            let hashed = hash(webhook, &object).map_err(anyhow::Error::msg)?;
            Ok(HashedObject { object, hashed })
        }
        (None, _) => anyhow::bail!(source.no_object()),
        (_, more) => anyhow::bail!("{}: expected one object, found {}", source.name, more + 1),
    }
}

struct FieldDifference {
    field: String,
    old: Option<String>,
    new: Option<String>,
}

/// The hashed fields down to scalars, by path, including the force annotation.
fn fields(object: &HashedObject) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Ok(json) = JsonTree::from_json(&object.hashed.preimage.canonical) {
        flatten("", &json, &mut found);
    }
    if let Some(force) = &object.hashed.preimage.force {
        found.insert(FORCE.to_owned(), quoted(force));
    }
    found
}

const FORCE: &str = "(annotation to force a rollout)";

fn flatten(path: &str, json: &JsonTree, found: &mut BTreeMap<String, String>) {
    match json {
        JsonTree::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
                let path = match (path.is_empty(), plain) {
                    (true, true) => name.clone(),
                    (false, true) => format!("{path}.{name}"),
                    (_, false) => format!("{path}[{}]", quoted(name)),
                };
                flatten(&path, value, found);
            }
        }
        JsonTree::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{path}[{index}]"), item, found);
            }
        }
        scalar => {
            found.insert(path.to_owned(), scalar.to_string());
        }
    }
}

fn differences(mut a: BTreeMap<String, String>, mut b: BTreeMap<String, String>) -> Vec<FieldDifference> {
    let fields: BTreeSet<String> = a.keys().chain(b.keys()).cloned().collect();
    let differences = fields.into_iter().map(|field| {
        let (old, new) = (a.remove(&field), b.remove(&field));
        FieldDifference { field, old, new }
    });
    differences.filter(|difference| difference.old != difference.new).collect()
}

fn text(a: &HashedObject, b: &HashedObject, differences: &[FieldDifference]) -> String {
    let cell = |value: &Option<String>| value.as_deref().map_or_else(|| "-".to_owned(), cell);
    let rows: Vec<[String; 3]> = differences.iter().map(|c| [c.field.clone(), cell(&c.old), cell(&c.new)]).collect();
    format!(
        "a: {}  {}\nb: {}  {}\n{}",
        a.hashed.preimage.hash(),
        escaped(&a.object.name()),
        b.hashed.preimage.hash(),
        escaped(&b.object.name()),
        table(["FIELD", "A", "B"], &rows)
    )
}

fn json(a: &HashedObject, b: &HashedObject, differences: &[FieldDifference]) -> JsonTree {
    let value = |value: &Option<String>| {
        value.as_deref().map_or(JsonTree::Null, |json| JsonTree::from_json(json).unwrap_or(JsonTree::Null))
    };
    let differences = differences.iter().map(|difference| {
        JsonTree::object([
            ("field", JsonTree::string(&difference.field)),
            ("a", value(&difference.old)),
            ("b", value(&difference.new)),
        ])
    });
    JsonTree::object([
        ("a", JsonTree::string(a.hashed.preimage.hash())),
        ("b", JsonTree::string(b.hashed.preimage.hash())),
        ("changes", JsonTree::Array(differences.collect())),
    ])
}

const EXAMPLES: &str = "\
Examples:
  Does moving a manifest to another version start a rollout?
    pointsman hash diff manifests/examples/v1alpha1.yaml \\
      manifests/examples/v1alpha2.yaml

  Against the object in the cluster:
    kubectl get materialize production -o yaml |
      pointsman hash diff - manifests/examples/v1alpha2.yaml

Exit codes:
  0  the hashes are the same
  1  they differ
  2  the flags are wrong, or an object cannot be read";
