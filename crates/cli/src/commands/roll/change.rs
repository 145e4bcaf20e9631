//! What people do to a roll.

use std::cell::Cell;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{RollClock, RollError, change_roll, clean_roll, get_roll, set_in_roll};
use pointsman_core::roll::{RollRequest, RollStatus, WaveSide};
use serde_json::{Value, json};

use super::known::{advise, checked, kind_of, without_effect};
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, counted};

#[derive(Args, Debug)]
pub(crate) struct ChangeArgs {
    /// Name of the Roll.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
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
    let done = "is paused: what is under way ends, and nothing more is moved";
    set(args, RollRequest::Pause, &json!({"paused": true}), done)
}

pub(super) fn back(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    // Whoever says where it goes has it go: a pause of before ends.
    let run = format!("pointsman roll run {}{}", args.name, args.kinds.flags());
    let done = format!("goes back: {run} takes back what was moved");
    set(args, RollRequest::Back, &json!({"direction": "Back", "paused": false}), &done)
}

pub(super) fn abort(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    let run = format!("pointsman roll run {}{}", args.name, args.kinds.flags());
    let done = format!("ends: {run} waits for what is under way");
    set(args, RollRequest::Abort, &json!({"direction": "Stop", "paused": false}), &done)
}

/// Sets members of the spec of a Roll, where that changes something.
fn set(args: &ChangeArgs, request: RollRequest, members: &Value, done: &str) -> anyhow::Result<ExitCode> {
    args.cluster.patiently(async |cluster| {
        check(request, &get_roll(&cluster, &args.name).await.map_err(advise)?, &args.kinds)?;
        set_in_roll(&cluster, &args.name, members).await.map_err(advise)
    })?;
    output::text(&format!("roll {} {done}\n", args.name))?;
    Ok(ExitCode::SUCCESS)
}

/// A request that would change nothing is an error.
fn check(request: RollRequest, document: &Value, kinds: &KindsArgs) -> anyhow::Result<()> {
    request.check(document, &kinds.flags()).map_err(without_effect)
}

/// The failure first: whoever runs it must not see a roll that goes on with what has failed.
pub(super) fn resume(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    let clock = RollClock::start();
    args.cluster.with(async |cluster| {
        check(RollRequest::Resume, &get_roll(&cluster, &args.name).await.map_err(advise)?, &args.kinds)?;
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
            let before = status.clone();
            approved.set(status.approve(&roll, &args.wave, side)?);
            if *status == before {
                let place = approved.get().of(&args.wave);
                return Err(format!("cannot approve roll {}: {place} is approved already", args.name));
            }
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
    if cleaned.is_nothing() {
        anyhow::bail!("cannot clean roll {}: it has left nothing in the cluster", args.name);
    }
    output::text(&format!("roll {}: {} cleaned\n", args.name, counted(cleaned.objects, "object")))?;
    Ok(ExitCode::SUCCESS)
}
