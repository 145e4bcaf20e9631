//! `pointsman rollout versions`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueHint};
use pointsman_cluster::{Cluster, RolloutError, list_rollouts, running_versions};
use pointsman_core::definition::{API_VERSION, Kind};
use pointsman_core::webhook::Webhook;
use pointsman_rollout::{ROLLOUT, RunningVersions, VersionStatus, rollout_target};
use serde_json::{Value, json};

use super::rollout_kind::{advise, kind_of};
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::format::{Format, ListFormat};
use crate::commands::input::{FileArgs, flat_documents};
use crate::commands::json_tree::JsonTree;
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, counted, warn};
use crate::commands::table::table;

#[derive(Args, Debug)]
pub(crate) struct VersionsArgs {
    /// Kind, by any of its names.
    #[arg(value_name = "KIND")]
    kind: String,
    /// Only this version.
    #[arg(value_name = "X.Y.Z")]
    only: Option<String>,
    /// File or directory with objects and StagedRollouts in YAML or JSON, instead of the cluster. Use - for stdin.
    /// Other kinds are skipped. Can be repeated.
    #[arg(short, long = "filename", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    files: Vec<PathBuf>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = ListFormat::Table)]
    output: ListFormat,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints the running versions, and the versions that may follow, computed from the objects.
pub(super) fn versions(args: &VersionsArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let kind = &find(&all, &args.kind)?.kind;
    let (running, rollouts) = match args.files.as_slice() {
        [] => args.cluster.patiently(async |cluster| in_cluster(&cluster, kind).await.map_err(advise))?,
        files => in_files(files, &args.kinds.webhook()?, kind)?,
    };
    let is_its = |rollout: &&Value| kind_of(rollout, &all).is_ok_and(|other| is_same(other, kind));
    let targets: Vec<String> = rollouts.iter().filter(is_its).filter_map(rollout_target).collect();
    let object_states = running.statuses(&targets);
    let selected = match &args.only {
        None => {
            let versions: Vec<Value> = object_states.iter().map(document).collect();
            VersionList {
                object_states,
                json: json!({"versions": versions, "objects": running.objects(), "unread": unread(&running)}),
            }
        }
        Some(version) => {
            let one = only(version, object_states, kind)?;
            VersionList { json: document(&one), object_states: vec![one] }
        }
    };
    selected.write(args.output)?;
    warn_of_unread(&running);
    Ok(ExitCode::SUCCESS)
}

/// The running versions and StagedRollouts of a cluster. Without the StagedRollout CRD there are no rollouts.
async fn in_cluster<'k>(cluster: &Cluster, kind: &'k Kind) -> Result<(RunningVersions<'k>, Vec<Value>), RolloutError> {
    let rollouts = match list_rollouts(cluster).await {
        Err(RolloutError::NoRollouts) => Vec::new(),
        answer => answer?,
    };
    Ok((running_versions(cluster, kind).await?, rollouts))
}

/// The running versions and StagedRollouts of files. Objects are converted to the newest version of their kind.
fn in_files<'k>(
    files: &[PathBuf],
    webhook: &Webhook,
    kind: &'k Kind,
) -> anyhow::Result<(RunningVersions<'k>, Vec<Value>)> {
    let sources = FileArgs { files: files.to_vec(), recursive: false }.read("")?;
    let newest = kind.versions().last().unwrap_or_default();
    let (mut running, mut rollouts) = (RunningVersions::new(kind), Vec::new());
    for document in flat_documents(&sources)? {
        let text = |member: &str| document.get(member).and_then(Value::as_str).unwrap_or_default();
        let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
        if text("kind") == ROLLOUT && text("apiVersion") == API_VERSION {
            rollouts.push(document);
        } else if text("kind") == kind.kind() && group == kind.group() {
            let converted = webhook.convert(&document.to_string(), newest)?;
            running.see(&serde_json::from_str(&converted.text)?);
        }
    }
    Ok((running, rollouts))
}

fn is_same(one: &Kind, other: &Kind) -> bool {
    (one.group(), one.kind()) == (other.group(), other.kind())
}

/// The version with this name, in any spelling.
fn only(version: &str, object_states: Vec<VersionStatus>, kind: &Kind) -> anyhow::Result<VersionStatus> {
    let names: Vec<String> = object_states.iter().map(|one| one.version.clone()).collect();
    object_states.into_iter().find(|one| one.is_called(version)).ok_or_else(|| {
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        anyhow::anyhow!("version {version:?} of {} is unknown; known versions: {known}", kind.name())
    })
}

/// Versions in all output formats.
struct VersionList {
    object_states: Vec<VersionStatus>,
    json: Value,
}

impl VersionList {
    fn write(&self, format: ListFormat) -> anyhow::Result<()> {
        let tree = || JsonTree::from_json(&self.json.to_string());
        match format {
            ListFormat::Json => output::data(&Format::Json.write(&tree()?))?,
            ListFormat::Yaml => output::data(&Format::Yaml.write(&tree()?))?,
            ListFormat::Name => {
                let names: String = self.object_states.iter().map(|one| format!("{}\n", one.version)).collect();
                output::text(&names)?;
            }
            ListFormat::Table => {
                let rows: Vec<[String; 3]> = self.object_states.iter().map(row).collect();
                output::text(&table(HEAD, &rows))?;
            }
            ListFormat::Wide => {
                let rows: Vec<[String; 8]> = self.object_states.iter().map(wide_row).collect();
                output::text(&table(WIDE_HEAD, &rows))?;
            }
        }
        Ok(())
    }
}

fn row(one: &VersionStatus) -> [String; 3] {
    let target = if one.target { "True" } else { "False" };
    [one.version.clone(), target.to_owned(), one.state.word().to_owned()]
}

fn wide_row(one: &VersionStatus) -> [String; 8] {
    let [version, target, state] = row(one);
    let [from, to, applied, available] =
        [&one.upgrade_from, &one.downgrade_to, &one.applied, &one.available].map(|names| names.join(", "));
    [version, target, state, one.objects.to_string(), from, to, applied, available]
}

fn document(one: &VersionStatus) -> Value {
    json!({
        "version": one.version, "target": one.target, "state": one.state.word(), "objects": one.objects,
        "upgrade_from": one.upgrade_from, "downgrade_to": one.downgrade_to,
        "applied_patches": one.applied, "available_patches": one.available,
    })
}

/// Objects with unknown versions.
fn unread(running: &RunningVersions<'_>) -> Value {
    let shown: Vec<Value> = running.shown().iter().map(|one| json!({"object": one.object, "why": one.why})).collect();
    json!({"count": running.unread(), "objects": shown})
}

fn warn_of_unread(running: &RunningVersions<'_>) {
    let Some(first) = running.shown().first() else { return };
    let more = match running.unread() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    warn(&format!(
        "the running version of {} of {} is unknown, so no version is active: {}: {}{more}",
        running.unread(),
        counted(running.objects(), "object"),
        first.object,
        first.why
    ));
}

const HEAD: [&str; 3] = ["VERSION", "TARGET", "STATE"];
const WIDE_HEAD: [&str; 8] =
    ["VERSION", "TARGET", "STATE", "OBJECTS", "UPGRADE FROM", "DOWNGRADE TO", "APPLIED", "AVAILABLE"];
