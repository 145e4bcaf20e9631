//! `pointsman rollout list`, `status` and `objects`.

use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{RolloutClock, SnapshotOptions, get_rollout, list_rollouts, survey_rollout};
use pointsman_rollout::{RolloutStatus, forecast};

use super::metrics::exposition;
use super::object_table::{ObjectColumns, ObjectList};
use super::prometheus_args::PrometheusArgs;
use super::rollout_kind::{advise, checked};
use super::tables::{names, rollouts, screen, wide_rollouts};
use super::watch::watch;
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::format::{Format, ListFormat, WatchedListFormat};
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, talk};

#[derive(Args, Debug)]
pub(crate) struct ListRolloutsArgs {
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = WatchedListFormat::Table)]
    output: WatchedListFormat,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Args, Debug)]
pub(crate) struct RolloutStatusArgs {
    /// Name of the StagedRollout.
    #[arg(value_name = "NAME")]
    name: String,
    /// Output format. The default is text.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    /// Show every change with bars, times and objects in flight, until the rollout is Complete, Aborted or Failed.
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ObjectsArgs {
    /// Name of the StagedRollout.
    #[arg(value_name = "NAME")]
    name: String,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = ListFormat::Table)]
    output: ListFormat,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    prometheus: PrometheusArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

pub(super) fn list(args: &ListRolloutsArgs) -> anyhow::Result<ExitCode> {
    let documents = args.cluster.patiently(async |cluster| list_rollouts(&cluster).await.map_err(advise))?;
    let all = || -> anyhow::Result<Vec<JsonTree>> {
        documents.iter().map(|document| JsonTree::from_json(&document.to_string())).collect()
    };
    match args.output {
        WatchedListFormat::Table | WatchedListFormat::Wide if documents.is_empty() => {
            talk("no rollouts in this cluster")
        }
        WatchedListFormat::Table => output::text(&rollouts(&documents))?,
        WatchedListFormat::Wide => output::text(&wide_rollouts(&documents))?,
        WatchedListFormat::Name => output::text(&names(&documents))?,
        WatchedListFormat::Prometheus => output::data(&exposition(&documents, RolloutClock::start().now().wall))?,
        WatchedListFormat::Json => output::data(&Format::Json.write(&list_of(all()?)))?,
        WatchedListFormat::Yaml => output::data(&Format::Yaml.write(&list_of(all()?)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A list, even for a single item, so that programs need no special case.
fn list_of(items: Vec<JsonTree>) -> JsonTree {
    JsonTree::object([
        ("apiVersion", JsonTree::string("v1")),
        ("kind", JsonTree::string("List")),
        ("items", JsonTree::Array(items)),
    ])
}

pub(super) fn status(args: &RolloutStatusArgs) -> anyhow::Result<ExitCode> {
    if args.watch {
        return watch(&args.cluster, &args.name, &args.kinds.flags());
    }
    let document = args.cluster.patiently(async |cluster| get_rollout(&cluster, &args.name).await.map_err(advise))?;
    match args.output {
        None => output::text(&screen(&document, &args.kinds.flags()))?,
        Some(format) => output::data(&format.write(&JsonTree::from_json(&document.to_string())?))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The current state of each object, by the status of the StagedRollout.
pub(super) fn objects(args: &ObjectsArgs) -> anyhow::Result<ExitCode> {
    let (all, mutated) = args.kinds.load_with_mutations()?;
    let options = args.prometheus.survey(SnapshotOptions::ObserveOnly, mutated)?;
    let (rollout, status, survey) = args.cluster.patiently(async |cluster| {
        let document = get_rollout(&cluster, &args.name).await.map_err(advise)?;
        let (kind, rollout) = checked(&document, &all)?;
        let status = RolloutStatus::of(&document);
        let survey = survey_rollout(&cluster, kind, &document, &rollout, &status, &options).await.map_err(advise)?;
        Ok((rollout, status, survey))
    })?;
    let forecasts = forecast(&rollout, &status, &survey.fleet, survey.facts.clone(), RolloutClock::start().now());
    let forecasts = ObjectList::new(&rollout, &status, &forecasts);
    let tree = || JsonTree::from_json(&forecasts.json().to_string());
    match args.output {
        ListFormat::Table => output::text(&forecasts.table(ObjectColumns::Few))?,
        ListFormat::Wide => output::text(&forecasts.table(ObjectColumns::All))?,
        ListFormat::Name => output::text(&forecasts.names())?,
        ListFormat::Json => output::data(&Format::Json.write(&tree()?))?,
        ListFormat::Yaml => output::data(&Format::Yaml.write(&tree()?))?,
    }
    Ok(ExitCode::SUCCESS)
}
