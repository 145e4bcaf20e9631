//! StagedRollouts as tables and as text.

use pointsman_rollout::{Direction, OrderedVersion, RolloutPhase, RolloutStatus, VersionRange, WaveSide};
use serde_json::Value;

use crate::commands::table::table;
use crate::terminal::escaped;

/// The most important members of a StagedRollout.
pub(super) fn row(document: &Value) -> [String; 10] {
    let status = RolloutStatus::of(document);
    let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let counts = status.counts;
    [
        text("/metadata/name"),
        text("/spec/kind"),
        text("/spec/from"),
        text("/spec/to"),
        format!("{:?}", status.phase),
        status.wave.unwrap_or_default(),
        counts.pending.to_string(),
        counts.in_flight.to_string(),
        counts.updated.to_string(),
        counts.failed.to_string(),
    ]
}

pub(super) fn rollouts(documents: &[Value]) -> String {
    table(HEAD, &documents.iter().map(row).collect::<Vec<_>>())
}

/// The table with the reason for waiting.
pub(super) fn wide_rollouts(documents: &[Value]) -> String {
    let rows = documents.iter().map(|document| {
        let status = RolloutStatus::of(document);
        wider(row(document), [status.reason.unwrap_or_default(), escaped(&status.message)])
    });
    table(wider(HEAD, ["REASON", "MESSAGE"]), &rows.collect::<Vec<_>>())
}

fn wider<T>([name, kind, from, to, phase, wave, old, moving, new, failed]: [T; 10], more: [T; 2]) -> [T; 12] {
    let [reason, message] = more;
    [name, kind, from, to, phase, wave, old, moving, new, failed, reason, message]
}

/// One name on each line.
pub(super) fn names(documents: &[Value]) -> String {
    let name =
        |document: &Value| document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    documents.iter().map(|document| name(document) + "\n").collect()
}

const HEAD: [&str; 10] = ["NAME", "KIND", "FROM", "TO", "PHASE", "WAVE", "PENDING", "IN-FLIGHT", "UPDATED", "FAILED"];

/// A rollout as text. `flags` are those of commands that read the kind, with a leading space.
pub(super) fn screen(document: &Value, flags: &str) -> String {
    let status = RolloutStatus::of(document);
    let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let from = Some(text("/spec/from")).filter(|from| !from.is_empty()).unwrap_or_else(|| "any".to_owned());
    let mut lines = vec![
        text("/metadata/name"),
        format!("  objects   {} from {from} to {}", text("/spec/kind"), text("/spec/to")),
        format!(
            "  phase     {:?}{}",
            status.phase,
            status.reason.iter().map(|why| format!(" ({why})")).collect::<String>()
        ),
        format!("  message   {}", status.message),
    ];
    lines.extend(status.state.iter().map(|state| format!("  state     {state}")));
    if status.direction != Direction::Forward {
        lines.push(format!("  direction {:?}", status.direction));
    }
    for wave in &status.waves {
        let now = match status.wave.as_ref() == Some(&wave.name) && !status.is_over() {
            true if status.before => "  <- before it",
            true => "  <- here",
            false => "",
        };
        lines.push(format!("  wave      {} {}/{}{now}", wave.name, wave.done, wave.total));
    }
    let approved = status.approved.iter().map(|wave| WaveSide::After.of(wave));
    let approved = status.approved_before.iter().map(|wave| WaveSide::Before.of(wave)).chain(approved);
    lines.extend(approved.map(|place| format!("  approved  {place}")));
    let counts = status.counts;
    lines.push(format!(
        "  counts    {} pending, {} in flight, {} updated, {} failed, {} held, {} refused, {} outside, {} unhealthy",
        counts.pending,
        counts.in_flight,
        counts.updated,
        counts.failed,
        counts.held,
        counts.refused,
        counts.outside,
        counts.unhealthy
    ));
    let running = status.lowest.iter().zip(&status.highest);
    lines.extend(running.map(|(lowest, highest)| format!("  runs      {}", span(lowest, highest))));
    let of_part =
        |(part, range): (&String, &VersionRange)| format!("  runs      {part} {}", span(&range.lowest, &range.highest));
    lines.extend(status.parts.iter().map(of_part));
    lines.extend(status.failures.iter().map(|failure| {
        let cleared = if failure.cleared { ", cleared" } else { "" };
        format!("  failed    {} ({}{cleared}): {}", failure.object, failure.reason, failure.message)
    }));
    let held = status.blocked.iter();
    lines.extend(held.map(|one| format!("  {:<10}{}: {}", one.state.to_lowercase(), one.object, one.message)));
    lines.extend(
        status.history.iter().map(|end| format!("  history   {:?}: {} at {}", end.direction, end.state, end.ended)),
    );
    lines.extend(next(document, &status, flags).map(|next| format!("  next      {next}")));
    lines.join("\n") + "\n"
}

/// From the lowest to the highest version.
fn span(lowest: &OrderedVersion, highest: &OrderedVersion) -> String {
    match lowest == highest {
        true => lowest.version.clone(),
        false => format!("{} to {}", lowest.version, highest.version),
    }
}

/// The next command for the operator.
pub(super) fn next(document: &Value, status: &RolloutStatus, flags: &str) -> Option<String> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    match status.phase {
        // The approval was given after the last run.
        RolloutPhase::Waiting if status.waits_for_approval() && is_approved(status) => {
            Some(format!("pointsman rollout run {name}{flags}"))
        }
        RolloutPhase::Waiting if status.waits_for_approval() => {
            let wave = status.wave.clone().unwrap_or_default();
            let side = if status.before { " --before" } else { which(document, &wave) };
            Some(format!("pointsman rollout approve {name} {wave}{side}{flags}"))
        }
        RolloutPhase::Waiting if status.waits_for_job() => Some(
            "wait for the Job, or delete the Job as the message describes: the rollout continues automatically"
                .to_owned(),
        ),
        RolloutPhase::Refused => Some(format!("fix the problem, then pointsman rollout run {name}{flags}")),
        RolloutPhase::Paused if status.is_unreadable() => {
            Some(format!("kubectl edit stagedrollouts {name}: the rollout continues automatically"))
        }
        // The rollout reverts by itself, and `resume` continues that.
        RolloutPhase::Paused if status.undo_all => {
            Some(format!("fix the problem, then pointsman rollout undo {name} and pointsman rollout resume {name}"))
        }
        RolloutPhase::Paused if status.is_undo() => {
            Some(format!("fix the problem, then pointsman rollout resume {name}"))
        }
        RolloutPhase::Paused => {
            Some(format!("fix the problem, then pointsman rollout resume {name}; or pointsman rollout undo {name}"))
        }
        RolloutPhase::Failed => {
            Some(format!("fix the problems, then pointsman rollout resume {name}; or pointsman rollout abort {name}"))
        }
        _ => None,
    }
}

/// Returns whether the approval for which the last run waited is given.
fn is_approved(status: &RolloutStatus) -> bool {
    let approved = if status.before { &status.approved_before } else { &status.approved };
    status.wave.as_ref().is_some_and(|wave| approved.contains(wave))
}

/// The flag for the approval after a wave, if the wave also has one before.
fn which(document: &Value, wave: &str) -> &'static str {
    let waves = document.pointer("/spec/waves").and_then(Value::as_array).into_iter().flatten();
    let has_both =
        waves.into_iter().any(|one| one.get("name").is_some_and(|name| name == wave) && one.get("before").is_some());
    if has_both { " --after" } else { "" }
}
