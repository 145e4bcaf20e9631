//! Changes of a rollout by an operator.

use std::cell::Cell;
use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{RolloutClock, RolloutError, change_rollout, clean_rollout, get_rollout, set_in_rollout};
use pointsman_rollout::{RolloutRequest, RolloutStatus, WaveSide};
use serde_json::{Value, json};

use super::rollout_kind::{advise, checked, kind_of, without_effect};
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, counted};

#[derive(Args, Debug)]
pub(crate) struct ChangeArgs {
    /// Name of the StagedRollout.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// Name of the StagedRollout.
    #[arg(value_name = "NAME")]
    name: String,
    /// Name of the wave.
    #[arg(value_name = "WAVE")]
    wave: String,
    /// Approve the start of the wave. Required only for a wave with two approvals.
    #[arg(long, conflicts_with = "after")]
    before: bool,
    /// Approve the continuation after the wave.
    #[arg(long)]
    after: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CleanArgs {
    /// Name of the StagedRollout.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

pub(super) fn pause(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    let done = "is paused: objects in flight finish, no other object moves";
    set(args, RolloutRequest::Pause, &json!({"paused": true}), done)
}

pub(super) fn undo(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    // A new direction ends an earlier pause.
    let run = format!("pointsman rollout run {}{}", args.name, args.kinds.flags());
    let done = format!("will be undone; to revert the moved objects, run: {run}");
    set(args, RolloutRequest::Undo, &json!({"direction": "Undo", "paused": false}), &done)
}

pub(super) fn abort(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    let run = format!("pointsman rollout run {}{}", args.name, args.kinds.flags());
    let done = format!("will be aborted; to wait for the objects in flight, run: {run}");
    set(args, RolloutRequest::Abort, &json!({"direction": "Abort", "paused": false}), &done)
}

/// Sets members of the spec of a StagedRollout, if that changes it.
fn set(args: &ChangeArgs, request: RolloutRequest, members: &Value, done: &str) -> anyhow::Result<ExitCode> {
    args.cluster.patiently(async |cluster| {
        check(request, &get_rollout(&cluster, &args.name).await.map_err(advise)?, &args.kinds)?;
        set_in_rollout(&cluster, &args.name, members).await.map_err(advise)
    })?;
    output::text(&format!("rollout {} {done}\n", args.name))?;
    Ok(ExitCode::SUCCESS)
}

/// Rejects a request without an effect.
fn check(request: RolloutRequest, document: &Value, kinds: &KindsArgs) -> anyhow::Result<()> {
    request.check(document, &kinds.flags()).map_err(without_effect)
}

/// Resets the failure first, so that a runner cannot continue with the old failure.
pub(super) fn resume(args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    let clock = RolloutClock::start();
    args.cluster.with(async |cluster| {
        check(RolloutRequest::Resume, &get_rollout(&cluster, &args.name).await.map_err(advise)?, &args.kinds)?;
        let change = &|_: &Value, status: &mut RolloutStatus| {
            status.resume(clock.now());
            Ok(())
        };
        let now = change_rollout(&cluster, &args.name, change).await.map_err(advise)?;
        if now.pointer("/spec/paused") == Some(&Value::Bool(true)) {
            set_in_rollout(&cluster, &args.name, &json!({"paused": false})).await.map_err(advise)?;
        }
        Ok(())
    })?;
    output::text(&format!("rollout {} continues\n", args.name))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn approve(args: &ApproveArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let side = match (args.before, args.after) {
        (true, _) => Some(WaveSide::Before),
        (_, true) => Some(WaveSide::After),
        _ => None,
    };
    let approved = Cell::new(WaveSide::After);
    args.cluster.with(async |cluster| {
        let approve = &|document: &Value, status: &mut RolloutStatus| {
            let (_, rollout) = checked(document, &all).map_err(|error| format!("{error:#}"))?;
            let before = status.clone();
            approved.set(status.approve(&rollout, &args.wave, side)?);
            if *status == before {
                let place = approved.get().of(&args.wave);
                return Err(format!("cannot approve rollout {}: {place} is approved already", args.name));
            }
            Ok(())
        };
        change_rollout(&cluster, &args.name, approve).await.map_err(advise)
    })?;
    let state_text = match approved.get() {
        WaveSide::Before => "may begin",
        WaveSide::After => "is approved",
    };
    output::text(&format!("rollout {}: {} {state_text}\n", args.name, args.wave))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn clean(args: &CleanArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let cleaned = args.cluster.with(async |cluster| {
        let document = get_rollout(&cluster, &args.name).await.map_err(advise)?;
        let kind = kind_of(&document, &all)?;
        clean_rollout(&cluster, kind, &args.name).await.map_err(|error: RolloutError| advise(error))
    })?;
    if cleaned.is_nothing() {
        anyhow::bail!(
            "cannot clean rollout {}: no annotation or policy of this rollout is left in the cluster",
            args.name
        );
    }
    output::text(&format!("rollout {}: {} cleaned\n", args.name, counted(cleaned.objects, "object")))?;
    Ok(ExitCode::SUCCESS)
}
