//! `pointsman rollout run`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::{self, ExitCode};

use clap::Args;
use pointsman_cluster::{RolloutEvent, RolloutOptions, get_rollout, run_rollout, run_rollouts};
use pointsman_rollout::{RolloutPhase, RolloutStatus};
use serde_json::Value;

use super::prometheus_args::PrometheusArgs;
use super::rollout_kind::{advise, kind_of};
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::kinds_dir::{KindsArgs, LoadedKind};
use crate::commands::output::{self, talk, warn};
use crate::commands::stop::{INTERRUPTED, Stop};

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Name of the StagedRollout. By default, all rollouts of the cluster with known kinds are run, until Ctrl-C.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Exit when the rollout only waits.
    #[arg(long)]
    once: bool,
    /// Identity of the runner in the Lease. Must be unique among processes. A process that restarts with the same
    /// identity continues immediately, without waiting for earlier API calls to finish. Defaults to the host name, the
    /// process ID and a random number.
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// Namespace of the Lease that excludes other runners.
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    prometheus: PrometheusArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Runs one or all rollouts. Exit code 1 if one needs manual action.
pub(super) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let (all, mutated) = args.kinds.load_with_mutations()?;
    let stop = Stop::on_interrupt()?;
    let holder = args.holder.clone().unwrap_or_else(own_name);
    let (namespace, prometheus) = (args.namespace.clone(), args.prometheus.address()?);
    let options = RolloutOptions { once: args.once, holder, namespace, prometheus, mutated };
    let needs_a_person = match &args.name {
        Some(name) => one(args, name, &all, &options, &stop)?,
        None => every(args, &all, &options, &stop)?,
    };
    if stop.is_wanted() {
        talk("Stopped. Run the same command again to continue");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(if needs_a_person { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs one rollout. Returns whether it needs manual action.
fn one(args: &RunArgs, name: &str, all: &[LoadedKind], options: &RolloutOptions, stop: &Stop) -> anyhow::Result<bool> {
    let printer = RolloutPrinter::default();
    let ended = args.cluster.with(async |cluster| {
        let document = get_rollout(&cluster, name).await.map_err(advise)?;
        let kind = kind_of(&document, all)?;
        let on_event = &|event| printer.on_event("", event);
        run_rollout(&cluster, kind, name, options, on_event, &|| stop.is_wanted()).await.map_err(advise)
    })?;
    if !stop.is_wanted() {
        output::text(&format!("{name} {:?}: {}\n", ended.phase, ended.message))?;
    }
    Ok(needs_a_person(&ended))
}

/// Runs every rollout with a known kind. Returns whether one of them needs manual action.
fn every(args: &RunArgs, all: &[LoadedKind], options: &RolloutOptions, stop: &Stop) -> anyhow::Result<bool> {
    let printer = RolloutPrinter::default();
    let ends = args.cluster.with(async |cluster| {
        let kind = |document: &Value| kind_of(document, all).map_err(|error| error.to_string());
        let on_event = &|name: &str, event| printer.on_event(name, event);
        run_rollouts(&cluster, &kind, options, on_event, &|| stop.is_wanted()).await.map_err(advise)
    })?;
    if !stop.is_wanted() {
        for (name, ended) in &ends {
            let ended = ended.as_ref().map_or_else(|| "cannot be run".to_owned(), line);
            output::text(&format!("{name} {ended}\n"))?;
        }
    }
    Ok(ends.values().any(|ended| ended.as_ref().is_none_or(needs_a_person)))
}

fn needs_a_person(status: &RolloutStatus) -> bool {
    let is_stuck = matches!(status.phase, RolloutPhase::Paused | RolloutPhase::Failed | RolloutPhase::Refused);
    is_stuck || status.undo_all || status.leaves_objects()
}

fn line(status: &RolloutStatus) -> String {
    format!("{:?}: {}", status.phase, status.message)
}

/// The last printed line of each rollout.
#[derive(Default)]
struct RolloutPrinter(RefCell<BTreeMap<String, String>>);

impl RolloutPrinter {
    /// Prints events, and changes of the status. `name` is the name of the rollout, if there are several.
    fn on_event(&self, name: &str, event: RolloutEvent) {
        let of = if name.is_empty() { String::new() } else { format!("{name}: ") };
        match event {
            RolloutEvent::Status(status) | RolloutEvent::Ended(status) => {
                let line = line(&status);
                if self.0.borrow_mut().insert(name.to_owned(), line.clone()).as_ref() != Some(&line) {
                    talk(&format!("{of}{line}"));
                }
            }
            RolloutEvent::Moved(object) => talk(&format!("{of}moved {object}")),
            RolloutEvent::Wrote(what, about) => talk(&format!("{of}{what} for {about}")),
            RolloutEvent::NotYet(why) => talk(&format!("{of}{why}; the write is repeated")),
            RolloutEvent::Ran(job, about) => talk(&format!("{of}job {job} runs for {about}")),
            RolloutEvent::Replaced(object) => warn(&format!(
                "{of}{object} was replaced or moved by another client since the last read: reading again"
            )),
            RolloutEvent::Refused(object, why) => warn(&format!("{of}{object} cannot be moved: {why}")),
            RolloutEvent::WaitsFor(by) => {
                talk(&format!("{of}{by} runs this rollout: waiting for the end of that runner"))
            }
            RolloutEvent::Pace(change) => talk(&format!("{of}{change}")),
            RolloutEvent::Trying(error) => warn(&format!("{of}{error}; trying again")),
            RolloutEvent::Noted(why) | RolloutEvent::NotAllowed(why) => warn(&format!("{of}{why}")),
            RolloutEvent::Left(why) => warn(&format!("{of}left alone: {why}")),
            _ => {}
        }
    }
}

/// An identity that is unique among running processes.
fn own_name() -> String {
    let machine = std::env::var("HOSTNAME").unwrap_or_else(|_| "pointsman".to_owned());
    // In a container, every main process has the same ID.
    let chance = RandomState::new().build_hasher().finish();
    format!("{machine}_{}_{chance:016x}", process::id())
}
