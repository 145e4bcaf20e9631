//! `pointsman kinds compare`.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::{Args, ValueEnum};
use pointsman_cluster::CrdState;
use pointsman_core::definition::{self, Kind};
use pointsman_core::registration::{CrdChange, Impact, crd_file_changes, definition_changes};
use pointsman_rollout::check_definition;
use serde_json::Value;

use crate::commands::cluster_args::{ClusterArgs, advised};
use crate::commands::format::TextFormat;
use crate::commands::input::{self, Source};
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::relative_to;
use crate::commands::output::{self, counted};
use crate::commands::table::table;
use crate::commands::verdict::{Outcome, Verdict};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "pointsman kinds compare [OPTIONS] [OLD] NEW")]
pub(super) struct CompareArgs {
    /// The old revision and the new one: files with a CRD or a definition, or REVISION:PATH of git. Without OLD, the
    /// CRD of the cluster is the old revision.
    #[arg(value_name = "REVISION", required = true, num_args = 1..=2)]
    revisions: Vec<String>,
    /// The least impact that fails the command.
    #[arg(long, value_enum, default_value_t = FailOn::Breaking)]
    fail_on: FailOn,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// The least impact that fails the command.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum FailOn {
    /// Values are lost, writes are refused, or clients fail.
    Breaking,
    /// Also changes that readers see, or that need a later step.
    Risky,
}

/// A revision: CRDs, or a definition with its CRD.
enum Revision {
    Crds(Vec<Value>),
    Definition(Box<(Kind, Value)>),
}

/// Exit code 1 for a change of at least this impact.
pub(super) fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let (old, new) = match args.revisions.as_slice() {
        [old, new] => (Revision::read(old)?, Revision::read(new)?),
        one => {
            let file = one.concat();
            let new = Revision::read(&file)?;
            (Revision::of_cluster(&args.cluster, &file, &new)?, new)
        }
    };
    let changes = match (&old, &new) {
        (Revision::Definition(old), Revision::Definition(new)) => {
            definition_changes((&old.0, &old.1), (&new.0, &new.1))
        }
        _ => crd_file_changes(&old.crds(), &new.crds()),
    };
    let least = if args.fail_on == FailOn::Breaking { Impact::Breaking } else { Impact::Risky };
    let verdict = verdict(&changes, least);
    match args.output {
        TextFormat::Text => output::text(&text(&changes, &verdict))?,
        format => output::data(&format.write_all(changes.iter().map(|one| (String::new(), json(one))).collect()))?,
    }
    Ok(verdict.exit_code())
}

impl Revision {
    /// Reads a file, or a path at a revision of git.
    fn read(name: &str) -> anyhow::Result<Self> {
        let (revision, path) = match name.split_once(':') {
            Some((revision, path)) if !Path::new(name).is_file() => (Some(revision), Path::new(path)),
            _ => (None, Path::new(name)),
        };
        let read = |path: &Path| match revision {
            Some(revision) => at_revision(revision, path),
            None => Ok(input::read_definition(path)?.text),
        };
        let source = Source { name: name.to_owned(), text: read(path)? };
        let documents = input::values(&source).map_err(anyhow::Error::msg)?;
        let values = documents.iter().map(|json| serde_json::from_str(&json.to_string()));
        let values = values.collect::<Result<Vec<Value>, _>>()?.into_iter().flat_map(input::flat);
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (crds, others): (Vec<Value>, Vec<Value>) =
            values.partition(|value| text(value, "kind") == "CustomResourceDefinition");
        if let Some(version) = crds.iter().map(|crd| text(crd, "apiVersion")).find(|version| version != V1) {
            anyhow::bail!("{name}: a CRD has the apiVersion {version:?}: convert the CRD to {V1}");
        }
        if !crds.is_empty() {
            return Ok(Self::Crds(crds));
        }
        let Some(document) = others.into_iter().find(|value| text(value, "kind") == definition::KIND) else {
            let kinds = format!("`kind: CustomResourceDefinition` or `kind: {}`", definition::KIND);
            anyhow::bail!("{name}: no document has {kinds}");
        };
        let kind = Kind::load(name, &source.text, &mut |crd| {
            read(&relative_to(path, crd)).map_err(|error| io::Error::other(format!("{error:#}")))
        })?;
        check_definition(&kind)?;
        Ok(Self::Definition(Box::new((kind, document))))
    }

    /// The CRDs of a cluster with the names of those in a file. New CRDs are not in the cluster yet.
    fn of_cluster(cluster: &ClusterArgs, file: &str, new: &Self) -> anyhow::Result<Self> {
        let names = new.crds().into_iter().map(|crd| crd.pointer("/metadata/name").and_then(Value::as_str));
        let names: Option<Vec<&str>> = names.collect();
        let names = names.with_context(|| format!("{file}: a CRD has no metadata.name: add the name"))?;
        cluster.act(async |cluster| {
            let mut crds = Vec::new();
            for name in &names {
                let found = CrdState::find(&cluster, name).await.map_err(|error| advised(error, |call| Some(call)))?;
                crds.extend(found.map(|crd| crd.document().clone()));
            }
            let names = names.join(", ");
            anyhow::ensure!(
                !crds.is_empty(),
                "{file}: CRD {names} is not in the cluster: compare the file with another file"
            );
            Ok(Self::Crds(crds))
        })
    }

    fn crds(&self) -> Vec<&Value> {
        match self {
            Self::Crds(crds) => crds.iter().collect(),
            Self::Definition(definition) => vec![definition.0.crd()],
        }
    }
}

const V1: &str = "apiextensions.k8s.io/v1";

/// The text of a file at a revision of git, relative to the current directory.
fn at_revision(revision: &str, path: &Path) -> anyhow::Result<String> {
    // A path relative to the current directory has to begin with a dot.
    let object = format!("{revision}:./{}", path.display());
    let output =
        Command::new("git").args(["show", "--end-of-options", &object]).output().context("failed to run git")?;
    let reason = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "failed to read {revision}:{}: {}", path.display(), reason.trim());
    String::from_utf8(output.stdout).with_context(|| format!("{object} is no text"))
}

/// Whether no change has at least this impact.
fn verdict(changes: &[CrdChange], least: Impact) -> Verdict {
    let count = |impact: Impact| changes.iter().filter(|change| change.impact == impact).count();
    let found: Vec<String> = [Impact::Breaking, Impact::Risky, Impact::Safe]
        .into_iter()
        .filter(|impact| count(*impact) > 0)
        .map(|impact| counted(count(impact), &format!("{} change", impact.name())))
        .collect();
    let harmless = if count(Impact::Breaking) == 0 && count(Impact::Risky) > 0 { "no breaking changes, " } else { "" };
    let why = if found.is_empty() { "no changes".to_owned() } else { format!("{harmless}{}", found.join(", ")) };
    let fails = changes.iter().any(|change| change.impact >= least);
    Verdict::new(if fails { Outcome::Unsafe } else { Outcome::Good }, why)
}

fn text(changes: &[CrdChange], verdict: &Verdict) -> String {
    let rows: Vec<[String; 4]> = changes
        .iter()
        .map(|change| {
            let advice = if change.advice.is_empty() { String::new() } else { format!(". Advice: {}", change.advice) };
            let example = change.example.as_ref().map(|example| format!(". Example: {example}")).unwrap_or_default();
            let (version, path) = (or_dash(&change.version), or_dash(&change.path));
            [change.impact.name().to_owned(), version, path, format!("{}{advice}{example}", change.what)]
        })
        .collect();
    match rows.is_empty() {
        true => format!("{verdict}\n"),
        false => format!("{verdict}\n{}", table(["IMPACT", "VERSION", "FIELD", "CHANGE"], &rows)),
    }
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

fn json(change: &CrdChange) -> JsonTree {
    let example = change.example.as_ref().and_then(|example| JsonTree::from_json(&example.to_string()).ok());
    let example = example.unwrap_or(JsonTree::Null);
    JsonTree::object([
        ("impact", JsonTree::string(change.impact.name())),
        ("version", JsonTree::string(&change.version)),
        ("field", JsonTree::string(&change.path)),
        ("change", JsonTree::string(&change.what)),
        ("advice", JsonTree::string(&change.advice)),
        ("example", example),
    ])
}

const EXAMPLES: &str = "\
Compares two CRDs, or two definitions with their CRDs. If one revision is a CRD, only
the CRDs are compared. Your objects are not read: `pointsman plan` reads them. An
example is a part of an object that the old CRD accepts and the new one does not.
Paths, also those of git, are relative to the current directory.

  breaking   values are lost, writes are refused, or clients fail
  risky      readers see other values, or a later step is necessary
  safe       objects and clients notice nothing

Examples:
  Compare a CRD with that of the main branch:
    pointsman kinds compare main:kinds/widgets.crd.yaml kinds/widgets.crd.yaml

  Compare the CRD of the cluster with the file that you are about to apply:
    pointsman kinds compare crd.yaml

  Compare two definitions with their CRDs, and fail on risky changes too:
    pointsman kinds compare old/widgets.yaml new/widgets.yaml --fail-on risky

Exit codes:
  0  no change has the impact of --fail-on
  1  a change has it, or a revision cannot be read
  2  the flags are wrong";
