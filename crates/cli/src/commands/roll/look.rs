//! `pointsman roll list`, `show` and `objects`.

use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{RollClock, SurveyAsks, get_roll, list_rolls, survey_roll};
use pointsman_core::roll::{RollStatus, forecast};

use super::exposition::exposition;
use super::known::{advise, checked};
use super::object_table::{ObjectColumns, ToldObjects};
use super::prometheus_args::PrometheusArgs;
use super::tables::{names, rolls, screen, wide_rolls};
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::format::{Format, ListFormat, WatchedListFormat};
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, talk};

#[derive(Args, Debug)]
pub(crate) struct ListRollsArgs {
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = WatchedListFormat::Table)]
    output: WatchedListFormat,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ShowRollArgs {
    /// Name of the Roll.
    #[arg(value_name = "NAME")]
    name: String,
    /// Form of the result; without it, text for people.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ObjectsArgs {
    /// Name of the Roll.
    #[arg(value_name = "NAME")]
    name: String,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = ListFormat::Table)]
    output: ListFormat,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    prometheus: PrometheusArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

pub(super) fn list(args: &ListRollsArgs) -> anyhow::Result<ExitCode> {
    let documents = args.cluster.patiently(async |cluster| list_rolls(&cluster).await.map_err(advise))?;
    let all = || -> anyhow::Result<Vec<JsonTree>> {
        documents.iter().map(|document| JsonTree::from_json(&document.to_string())).collect()
    };
    match args.output {
        WatchedListFormat::Table | WatchedListFormat::Wide if documents.is_empty() => talk("no rolls in this cluster"),
        WatchedListFormat::Table => output::text(&rolls(&documents))?,
        WatchedListFormat::Wide => output::text(&wide_rolls(&documents))?,
        WatchedListFormat::Name => output::text(&names(&documents))?,
        WatchedListFormat::Prometheus => output::data(&exposition(&documents, RollClock::start().now().wall))?,
        WatchedListFormat::Json => output::data(&Format::Json.write(&list_of(all()?)))?,
        WatchedListFormat::Yaml => output::data(&Format::Yaml.write(&list_of(all()?)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A list, however many there are: a program need not ask.
fn list_of(items: Vec<JsonTree>) -> JsonTree {
    JsonTree::object([
        ("apiVersion", JsonTree::string("v1")),
        ("kind", JsonTree::string("List")),
        ("items", JsonTree::Array(items)),
    ])
}

pub(super) fn show(args: &ShowRollArgs) -> anyhow::Result<ExitCode> {
    let document = args.cluster.patiently(async |cluster| get_roll(&cluster, &args.name).await.map_err(advise))?;
    match args.output {
        None => output::text(&screen(&document, &args.kinds.flags()))?,
        Some(format) => output::data(&format.write(&JsonTree::from_json(&document.to_string())?))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What is seen of each object now, by the Roll's status as it is.
pub(super) fn objects(args: &ObjectsArgs) -> anyhow::Result<ExitCode> {
    let (all, staged) = args.kinds.load_with_stages()?;
    let looks = args.prometheus.survey(SurveyAsks::Nobody, staged)?;
    let (roll, status, survey) = args.cluster.patiently(async |cluster| {
        let document = get_roll(&cluster, &args.name).await.map_err(advise)?;
        let (kind, roll) = checked(&document, &all)?;
        let status = RollStatus::of(&document);
        let survey = survey_roll(&cluster, kind, &document, &roll, &status, &looks).await.map_err(advise)?;
        Ok((roll, status, survey))
    })?;
    let told = forecast(&roll, &status, &survey.fleet, survey.facts.clone(), RollClock::start().now());
    let told = ToldObjects::new(&roll, &status, &told);
    let tree = || JsonTree::from_json(&told.json().to_string());
    match args.output {
        ListFormat::Table => output::text(&told.table(ObjectColumns::Few))?,
        ListFormat::Wide => output::text(&told.table(ObjectColumns::All))?,
        ListFormat::Name => output::text(&told.names())?,
        ListFormat::Json => output::data(&Format::Json.write(&tree()?))?,
        ListFormat::Yaml => output::data(&Format::Yaml.write(&tree()?))?,
    }
    Ok(ExitCode::SUCCESS)
}
