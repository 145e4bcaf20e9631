//! `pointsman rollout plan`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pointsman_cluster::{FleetSnapshot, RolloutClock, SnapshotOptions, survey_rollout, unfreezable};
use pointsman_rollout::{
    Forecast, GateDescription, ObjectState, Rollout, RolloutStatus, StepDescription, forecast, gate_descriptions,
    missing_mutations, shut_now, start_refusals, step_descriptions,
};
use serde_json::{Value, json};

use super::html;
use super::object_table::{ObjectColumns, ObjectList, is_stopped};
use super::prometheus_args::PrometheusArgs;
use super::rollout_kind::{FileRollout, advise};
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::format::Format;
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, counted};
use crate::commands::verdict::{Outcome, Verdict};

#[derive(Args, Debug)]
pub(crate) struct PlanRolloutArgs {
    /// File of the StagedRollout, or - for stdin.
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    /// Send each first write as a server-side dry run: webhooks validate it, and the API server does not store it.
    #[arg(long)]
    server: bool,
    /// Output format. The default is a table. HTML is one self-contained page.
    #[arg(short, long, value_enum)]
    output: Option<RolloutPlanFormat>,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    prometheus: PrometheusArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// The output format of a rollout plan.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum RolloutPlanFormat {
    /// One page.
    Html,
    /// One JSON document.
    Json,
    /// YAML.
    Yaml,
}

/// Exit code 1 if an object would not move, or the rollout would not start.
pub(super) fn plan(args: &PlanRolloutArgs) -> anyhow::Result<ExitCode> {
    let (all, mutated) = args.kinds.load_with_mutations()?;
    let file = FileRollout::read(&args.filename, &all)?;
    let kind = file.kind(&all)?;
    let (rollout, status) = (&file.rollout, RolloutStatus::default());
    let asks = if args.server { SnapshotOptions::DryRun } else { SnapshotOptions::ObserveOnly };
    let options = args.prometheus.survey(asks, mutated)?;
    let (survey, never, address) = args.cluster.patiently(async |cluster| {
        let survey =
            survey_rollout(&cluster, kind, &file.document, rollout, &status, &options).await.map_err(advise)?;
        let never = unfreezable(&cluster, rollout).await.map_err(|error| advise(error.into()))?;
        Ok((survey, never, cluster.address().to_owned()))
    })?;
    let mut refusals = start_refusals(rollout, &survey.fleet, &survey.facts);
    refusals.extend(missing_mutations(rollout, &status, &options.mutated));
    let shut = shut_now(rollout, &status, &survey.facts);
    let forecasts = forecast(rollout, &status, &survey.fleet, survey.facts.clone(), RolloutClock::start().now());
    let moves = forecasts.iter().filter(|one| one.object_state == ObjectState::Old).count();
    let stays = forecasts.iter().filter(|one| is_stopped(one)).count();
    let words = || {
        let never: String = never.iter().map(|why| format!("the rollout would not start: {why}\n")).collect();
        summary(rollout, &survey, &forecasts, moves, &refusals, shut.as_deref()) + &never
    };
    let objects = ObjectList::new(rollout, &status, &forecasts);
    let obstacles: Vec<&str> = refusals.iter().chain(&never).map(String::as_str).chain(shut.as_deref()).collect();
    let verdict = verdict(forecasts.len(), moves, stays, &obstacles);
    match args.output {
        None => output::text(&format!("{verdict}\n{}{}", objects.table(ObjectColumns::Few), words()))?,
        Some(RolloutPlanFormat::Html) => output::data(&html::page(rollout, &forecasts, &verdict, &address, &words()))?,
        Some(format @ (RolloutPlanFormat::Json | RolloutPlanFormat::Yaml)) => {
            let format = if format == RolloutPlanFormat::Json { Format::Json } else { Format::Yaml };
            let way_back = rollout.no_way_back();
            let irreversible: Vec<_> =
                rollout.irreversible().iter().map(|(step, why)| json!({"step": step, "why": why})).collect();
            let value = json!({
                "verdict": verdict.outcome.name(), "rollout": rollout.name(), "from": rollout.from(), "to": rollout.to(), "moves": moves, "stays": stays,
                "steps": steps_json(rollout), "waits": waits_json(rollout), "dryRuns": survey.dry_runs, "noWayBack": way_back, "irreversible": irreversible, "refusals": refusals, "shut": shut,
                "closed": survey.facts.closed(rollout), "freezes": frozen(rollout), "unfrozen": survey.unfrozen,
                "unfreezable": never,
                "twoControllersUnseen": rollout.undetectable_controllers(), "objects": objects.json(),
            });
            output::data(&format.write(&JsonTree::from_json(&value.to_string())?))?;
        }
    }
    Ok(verdict.exit_code())
}

/// Whether the rollout would start, and would move all of its objects.
fn verdict(objects: usize, moves: usize, stays: usize, obstacles: &[&str]) -> Verdict {
    let moved = counted(moves, "object");
    match obstacles {
        [] if objects == 0 => Verdict::new(Outcome::Good, "no object matches the rollout: check its selector"),
        [] if stays == 0 => Verdict::new(Outcome::Good, format!("the rollout would move {moved}")),
        [] => Verdict::new(Outcome::Blocked, format!("the rollout would move {moved}, and {stays} would not move")),
        [first, ..] => Verdict::new(Outcome::Blocked, format!("the rollout would move no object: {first}")),
    }
}

fn summary(
    rollout: &Rollout,
    survey: &FleetSnapshot,
    forecasts: &[Forecast<'_>],
    moves: usize,
    refusals: &[String],
    shut: Option<&str>,
) -> String {
    let count = |word: &str| forecasts.iter().filter(|one| one.object_state.word() == word).count();
    let mut text = format!("move {moves}");
    for (word, name) in [
        ("Refused", "refused"),
        ("Waiting", "waiting"),
        ("Held", "held"),
        ("Outside", "outside"),
        ("Updated", "updated"),
    ] {
        if count(word) > 0 {
            text.push_str(&format!(", {name} {}", count(word)));
        }
    }
    let unhealthy = forecasts.iter().filter(|one| one.object.unhealthy().is_some()).count();
    text.push_str(&format!("; unhealthy now: {unhealthy}\n"));
    let stops = rollout.points_of_no_return();
    match rollout.no_way_back() {
        None if !stops.is_empty() => {
            text.push_str(&format!("the path permits an undo down to step {}\n", stops.join(", ")));
        }
        None => text.push_str("the path permits an undo\n"),
        Some(why) if rollout.way_back().is_ok() => text.push_str(&format!("no way back, an accepted risk: {why}\n")),
        Some(_) => {}
    }
    let steps = step_descriptions(rollout);
    let widest = steps.iter().map(|step| step.name.len()).max().unwrap_or_default();
    if !steps.is_empty() {
        text.push_str("each object, step by step:\n");
    }
    text.extend(steps.iter().map(|step| format!("  {:widest$}   {}\n", step.name, step.does)));
    text.extend(gate_descriptions(rollout).iter().map(|gate| format!("{}\n", gate.words())));
    let accepted = rollout.irreversible().into_iter().filter(|(name, _)| rollout.accepts(name));
    text.extend(accepted.map(|(name, why)| format!("step {name} cannot be undone, which is accepted: {why}\n")));
    text.extend(refusals.iter().map(|why| format!("the rollout would not start: {why}\n")));
    if let Some(shut) = shut {
        text.push_str(&format!("no object would move: {shut}\n"));
    }
    if let Some(closed) = survey.facts.closed(rollout) {
        text.push_str(&format!("no object would move now: {closed}\n"));
    }
    if let Some(why) = rollout.undetectable_controllers().filter(|_| !rollout.has_workflows()) {
        text.push_str(&format!("cannot detect two controllers on one object: {why}\n"));
    }
    text.push_str(&freezing(rollout, survey));
    if rollout.holds() {
        text.push_str("each object is held until its turn: other clients cannot change its label earlier\n");
    }
    text.push_str(&calls(rollout, survey, moves));
    text
}

/// The number of API calls.
fn calls(rollout: &Rollout, survey: &FleetSnapshot, moves: usize) -> String {
    let patches = match (rollout.has_workflows(), rollout.holds()) {
        (true, _) => format!("at most {}", moves * rollout.steps()),
        (false, true) => (moves * 2).to_string(),
        (false, false) => moves.to_string(),
    };
    match survey.dry_runs {
        0 => format!("planned PATCH calls: {patches}; --server sends each as a dry run to all webhooks\n"),
        dry_runs => format!("planned PATCH calls: {patches}; dry runs sent: {dry_runs}, none was stored\n"),
    }
}

fn waits_json(rollout: &Rollout) -> Vec<Value> {
    let json = |gate: &GateDescription<'_>| {
        json!({
            "wave": gate.wave, "side": gate.side.word(), "approval": gate.approval, "checks": gate.checks,
            "wait": gate.time(),
        })
    };
    gate_descriptions(rollout).iter().map(json).collect()
}

fn steps_json(rollout: &Rollout) -> Vec<Value> {
    let json = |step: StepDescription| {
        json!({
            "workflow": step.workflow, "step": step.name, "does": step.does, "irreversible": step.irreversible,
        })
    };
    step_descriptions(rollout).into_iter().map(json).collect()
}

/// The frozen resources, and whether a policy protects them.
fn freezing(rollout: &Rollout, survey: &FleetSnapshot) -> String {
    let frozen = frozen(rollout);
    if frozen.is_empty() {
        return String::new();
    }
    let held = match (&survey.unfrozen, survey.mode) {
        (Some(why), _) => format!("; not yet: {why}; pointsman rollout start applies the policy"),
        (None, SnapshotOptions::DryRun) => "; the policy that refuses these writes exists".to_owned(),
        (None, SnapshotOptions::ObserveOnly) => "; --server checks the policy that refuses these writes".to_owned(),
    };
    format!("frozen meanwhile: {}{held}\n", frozen.join(", "))
}

fn frozen(rollout: &Rollout) -> Vec<String> {
    let all = rollout.frozen().map(|frozen| {
        let all = frozen.part.map_or_else(|| "all are".to_owned(), |part| format!("every {part} is"));
        let bound =
            |words: &str, version: Option<&str>| version.map(|version| format!(" until {all} at {words} {version}"));
        let bounds = [bound("least", frozen.at_least), bound("most", frozen.at_most)];
        format!("{}{}", frozen.resource, bounds.into_iter().flatten().collect::<Vec<_>>().join(" and"))
    });
    all.collect::<BTreeSet<String>>().into_iter().collect()
}
