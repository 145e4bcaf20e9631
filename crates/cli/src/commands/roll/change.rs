//! What people do to a roll.

use std::cell::Cell;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{RollClock, RollError, change_roll, clean_roll, get_roll, set_in_roll};
use pointsman_core::roll::{RollStatus, WaveSide};
use serde_json::{Value, json};

use super::known::{advise, checked, kind_of};
use crate::commands::connected::ClusterArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, counted};

#[derive(Args, Debug)]
pub(crate) struct ChangeArgs {
    /// Name of the Roll.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// Name of the Roll.
    #[arg(value_name = "NAME")]
    name: String,
    /// Wave that is approved.
    #[arg(value_name = "WAVE")]
    wave: String,
    /// Let that wave begin. Only a wave that asks for two approvals has to be told which.
    #[arg(long, conflicts_with = "then")]
    before: bool,
    /// Let the roll go on behind that wave.
    #[arg(long)]
    then: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CleanArgs {
    /// Name of the Roll.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

pub(super) fn pause(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    set(args, &json!({"paused": true}), "is paused: what is under way ends, and nothing more is moved")
}

pub(super) fn back(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    // Whoever says where it goes has it go: a pause of before ends.
    let now = change(args, &json!({"direction": "Back", "paused": false}))?;
    let (name, status) = (&args.name, RollStatus::of(&now));
    let told = match status.halted.as_ref().filter(|_| status.goes_back()) {
        // To say so once more is no answer to what failed.
        Some(halt) => format!(
            "roll {name} goes back already, and is paused ({}): {}; mend it, then pointsman roll resume {name}\n",
            halt.reason, halt.message
        ),
        None => format!("roll {name} goes back: pointsman roll run takes back what was moved\n"),
    };
    output::text(&told)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn abort(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    set(args, &json!({"direction": "Stop", "paused": false}), "ends: pointsman roll run waits for what is under way")
}

fn set(args: &ChangeArgs, members: &Value, done: &str) -> anyhow::Result<ExitCode> {
    change(args, members)?;
    output::text(&format!("roll {} {done}\n", args.name))?;
    Ok(ExitCode::SUCCESS)
}

/// The Roll with other members of its spec.
fn change(args: &ChangeArgs, members: &Value) -> anyhow::Result<Value> {
    args.cluster.patiently(async |cluster| set_in_roll(&cluster, &args.name, members).await.map_err(advise))
}

/// The failure first: whoever runs it must not see a roll that goes on with what has failed.
pub(super) fn resume(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    let clock = RollClock::start();
    args.cluster.with(async |cluster| {
        let change = &|_: &Value, status: &mut RollStatus| {
            status.resume(clock.now());
            Ok(())
        };
        let now = change_roll(&cluster, &args.name, change).await.map_err(advise)?;
        if now.pointer("/spec/paused") == Some(&Value::Bool(true)) {
            set_in_roll(&cluster, &args.name, &json!({"paused": false})).await.map_err(advise)?;
        }
        Ok(())
    })?;
    output::text(&format!("roll {} goes on\n", args.name))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn approve(args: &ApproveArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let side = match (args.before, args.then) {
        (true, _) => Some(WaveSide::Before),
        (_, true) => Some(WaveSide::Then),
        _ => None,
    };
    let approved = Cell::new(WaveSide::Then);
    args.cluster.with(async |cluster| {
        let approve = &|document: &Value, status: &mut RollStatus| {
            let (_, roll) = checked(document, &all).map_err(|error| format!("{error:#}"))?;
            approved.set(status.approve(&roll, &args.wave, side)?);
            Ok(())
        };
        change_roll(&cluster, &args.name, approve).await.map_err(advise)
    })?;
    let told = match approved.get() {
        WaveSide::Before => "may begin",
        WaveSide::Then => "is approved",
    };
    output::text(&format!("roll {}: {} {told}\n", args.name, args.wave))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn clean(args: &CleanArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let cleaned = args.cluster.with(async |cluster| {
        let document = get_roll(&cluster, &args.name).await.map_err(advise)?;
        let kind = kind_of(&document, &all)?;
        clean_roll(&cluster, kind, &args.name).await.map_err(|error: RollError| advise(error))
    })?;
    output::text(&format!("roll {}: {} cleaned\n", args.name, counted(cleaned, "object")))?;
    Ok(ExitCode::SUCCESS)
}
