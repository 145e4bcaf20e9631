//! The `plan` command.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pointsman_cluster::live;
use pointsman_core::webhook::{ControllerVersion, Enforcement, Settings};

use super::assessment::{Assessed, Questions};
use super::report::PlanReport;
use super::{html, text_output};
use crate::commands::cluster_args::{ClusterArgs, advised};
use crate::commands::input::{EMPTY_LIST, FileArgs, InputObject};
use crate::commands::json_tree::JsonTree;
use crate::commands::kind_names::{find, version};
use crate::commands::kinds_dir::{KindsArgs, kind_of};
use crate::commands::output::{self, complain, counted, talk};
use crate::commands::progress_line::ProgressLine;
use crate::commands::{format::Format, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArgs {
    /// Kind of the objects in the cluster, by any of its names. Defaults to objects from files.
    #[arg(value_name = "KIND", conflicts_with_all = ["files", "recursive"])]
    kind: Option<String>,
    #[command(flatten)]
    files: FileArgs,
    /// Assess this version only, instead of every other version.
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// Also report objects that this controller version would reject in a handover.
    #[arg(long, value_name = "X.Y.Z")]
    controller_version: Option<ControllerVersion>,
    /// Output format. HTML is one self-contained page.
    #[arg(short, long, value_enum, default_value_t = PlanFormat::Text)]
    output: PlanFormat,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// The output format of a plan.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum PlanFormat {
    /// One page.
    Html,
    /// One JSON document.
    Json,
    /// Totals, and the first findings.
    Text,
    /// Totals, and all findings.
    Wide,
}

/// Reports the effects on objects. Read-only.
pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let controller = args.controller_version.clone();
    let webhook = args.kinds.webhook()?.admitting(Settings {
        controller: controller.clone(),
        default: false,
        served: Vec::new(),
        enforcement: Enforcement::Enforce,
        shadowed: Vec::new(),
    });
    let questions = Questions { webhook: &webhook, to: args.to.as_deref(), entry: controller.is_some() };
    let objects = match &args.kind {
        Some(kind) => in_cluster(args, kind, &questions)?.map(|(objects, address)| (objects, Some(address))),
        None => in_files(args, &questions)?.map(|objects| (objects, None)),
    };
    let Some((objects, cluster)) = objects else {
        return Ok(ExitCode::FAILURE);
    };
    let report = PlanReport::new(objects, controller.map(|version| version.as_str().to_owned()), cluster);
    match args.output {
        PlanFormat::Html => output::data(&html::page(&report))?,
        PlanFormat::Json => output::data(&Format::Json.write(&report.json()))?,
        PlanFormat::Text | PlanFormat::Wide => {
            output::text(&text_output::text(&report, args.output == PlanFormat::Wide))?;
        }
    }
    Ok(report.verdict().exit_code())
}

/// The assessment of every object of a known kind in files. `None` if one failed, which is already reported.
fn in_files(args: &PlanArgs, questions: &Questions<'_>) -> anyhow::Result<Option<Vec<Assessed>>> {
    let decided = args.files.decide(EXAMPLE, |object| match kind_of(questions.webhook, object) {
        Ok(_) => questions.assess(object).map(Ok),
        Err(unknown) => Ok(Err(unknown)),
    })?;
    let Some(decided) = decided else { return Ok(None) };
    let all = decided.into_iter().flat_map(|decided| decided.results);
    let (known, unknown): (Vec<_>, Vec<_>) = all.partition(Result::is_ok);
    let known: Vec<Assessed> = known.into_iter().flatten().collect();
    let mut unknown = unknown.into_iter().filter_map(Result::err).peekable();
    if known.is_empty() && unknown.peek().is_none() {
        complain(EMPTY_LIST);
        return Ok(None);
    }
    if let Some(first) = unknown.next() {
        if known.is_empty() {
            complain(&first);
            return Ok(None);
        }
        talk(&format!("{} of other kinds passed over", counted(1 + unknown.count(), "object")));
    }
    Ok(Some(known))
}

/// The assessment of every object of the kind in the cluster, and the address of its API server. `None` if one failed,
/// which is already reported.
fn in_cluster(
    args: &PlanArgs,
    name: &str,
    questions: &Questions<'_>,
) -> anyhow::Result<Option<(Vec<Assessed>, String)>> {
    let all = args.kinds.load()?;
    let kind = &find(&all, name)?.kind;
    if let Some(to) = &args.to {
        version(kind, to).map_err(|message| Usage(format!("--to {to}: {message}")))?;
    }
    let crd = format!("{}.{}", kind.plural(), kind.group());
    let (mut assessed, mut good) = (Vec::new(), true);
    let mut progress = ProgressLine::new();
    let mut take = |items: Vec<serde_json::Value>| {
        for item in items {
            // Frees a page before the next one is read.
            let object = JsonTree::from_json(&item.to_string()).map_err(|error| error.to_string());
            let object = object.and_then(|json| InputObject::read(crd.clone(), &json));
            match object.and_then(|object| questions.assess(&object)) {
                Ok(one) => {
                    assessed.push(one);
                    progress.update(|| format!("{crd}: {} objects so far", assessed.len()));
                }
                Err(message) => {
                    good = false;
                    complain(&message);
                }
            }
        }
    };
    let (state, address) = args.cluster.patiently(async |cluster| {
        let state = live(&cluster, &crd, &mut take).await.map_err(|error| advised(error, |call| Some(call)))?;
        Ok((state, cluster.address().to_owned()))
    })?;
    if !state.is_converted() && state.stored_versions().len() > 1 {
        talk(&format!(
            "{crd} has objects stored as {}, without a conversion webhook: this plan read the objects as {}, so \
                 fields with other names in another version are missing here",
            state.stored_versions().join(" and "),
            state.storage(),
        ));
    }
    Ok(good.then_some((assessed, address)))
}

const EXAMPLE: &str = "kubectl get materializes -A -o json | pointsman plan";

const EXAMPLES: &str = "\
The plan converts every object to each other version and back, with a model of
the API server in between. The cluster is unchanged.

Examples:
  Plan for the objects of a directory:
    pointsman plan -f manifests/examples

  Plan for the objects of a cluster, read by kubectl:
    kubectl get materializes -A -o json | pointsman plan

  Show how controller version 2.17.0 would validate all objects:
    pointsman plan -f manifests/examples --controller-version 2.17.0

  Write a page for the review of the change:
    pointsman plan -f manifests/examples -o html > plan.html

Without a file, `pointsman plan KIND` reads the cluster itself.

Exit codes:
  0  every object can be converted, and returns unchanged
  1  an object cannot be converted or read, or would lose a value
  2  the flags are wrong";
