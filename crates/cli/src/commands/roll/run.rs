//! `pointsman roll run`.

use std::process::{self, ExitCode};

use clap::Args;
use pointsman_cluster::{RollEvent, RollOptions, get_roll, run_roll};
use pointsman_core::roll::{RollPhase, RollStatus};

use super::known::{advise, kind_of};
use crate::commands::connected::ClusterArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, talk, warn};
use crate::commands::stop::{INTERRUPTED, Stop};

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Name of the Roll.
    #[arg(value_name = "NAME")]
    name: String,
    /// End once there is nothing to do but to wait for others.
    #[arg(long)]
    once: bool,
    /// Who runs it, in the Lease: no two processes at a time by one name. Defaults to the name of this machine and the
    /// process.
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// Namespace of the Lease that keeps two processes apart.
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Runs a roll. Exit code 1 where it needs a person.
pub(super) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let stop = Stop::on_interrupt()?;
    let holder = args.holder.clone().unwrap_or_else(own_name);
    let (name, namespace) = (args.name.clone(), args.namespace.clone());
    let options = RollOptions { name, once: args.once, holder, namespace };
    let mut told = None;
    let ended = args.cluster.with(async |cluster| {
        let document = get_roll(&cluster, &args.name).await.map_err(advise)?;
        let kind = kind_of(&document, &all)?;
        let hear = &mut |event| hear(event, &mut told);
        run_roll(&cluster, kind, &options, hear, &|| stop.is_wanted()).await.map_err(advise)
    })?;
    if stop.is_wanted() {
        talk("stopped: the same command goes on");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    output::text(&format!("{} {:?}: {}\n", args.name, ended.phase, ended.message))?;
    Ok(if needs_a_person(&ended) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn needs_a_person(status: &RollStatus) -> bool {
    matches!(status.phase, RollPhase::Paused | RollPhase::Failed | RollPhase::Refused) || status.back_all
}

/// Tells what happens, and of the status only what is new.
fn hear(event: RollEvent, told: &mut Option<String>) {
    match event {
        RollEvent::Status(status) => {
            let line = format!("{:?}: {}", status.phase, status.message);
            if told.as_ref() != Some(&line) {
                talk(&line);
                *told = Some(line);
            }
        }
        RollEvent::Moved(object) => talk(&format!("moved {object}")),
        RollEvent::Replaced(object) => {
            warn(&format!(
                "{object} was replaced, or moved by somebody else, since it was looked at: it is looked at again"
            ));
        }
        RollEvent::Refused(object, why) => warn(&format!("{object} cannot be moved: {why}")),
        RollEvent::WaitsFor(by) => talk(&format!("{by} runs it: waiting until it is gone")),
        RollEvent::Trying(error) => warn(&format!("{error}; trying again")),
        _ => {}
    }
}

/// Of this process, and of no other that runs at the same time.
fn own_name() -> String {
    let machine = std::env::var("HOSTNAME").unwrap_or_else(|_| "pointsman".to_owned());
    format!("{machine}_{}", process::id())
}
