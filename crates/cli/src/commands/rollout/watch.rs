//! `pointsman rollout status --watch`: the status again after each change.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use pointsman_cluster::get_rollout;
use pointsman_rollout::{RolloutPhase, RolloutStatus, wall};
use serde_json::Value;

use super::rollout_kind::advise;
use super::tables::screen;
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::output;
use crate::commands::unix_time::unix_time;
use crate::terminal::{CLEAR, escaped_lines};

/// Shows a rollout until it ends or Ctrl-C. A terminal is redrawn; other outputs get one screen for each change.
/// `flags` are those of commands that read the kind, with a leading space. Exit code 1 unless the rollout completes.
pub(super) fn watch(cluster: &ClusterArgs, name: &str, flags: &str) -> anyhow::Result<ExitCode> {
    let redraws = io::stdout().is_terminal();
    let ended = cluster.act(async |cluster| {
        let mut shown: Option<Value> = None;
        loop {
            let document = get_rollout(&cluster, name).await.map_err(advise)?;
            let status = RolloutStatus::of(&document);
            let is_new = shown.as_ref() != document.get("status");
            let text = || screen(&document, flags) + &progress(&status, unix_time());
            if redraws {
                output::data(&format!("{CLEAR}{}", escaped_lines(&text())))?;
            } else if is_new {
                output::text(&format!("{}{}", if shown.is_some() { "\n" } else { "" }, text()))?;
            }
            if status.is_over() {
                return Ok(status.phase);
            }
            shown = document.get("status").cloned();
            tokio::time::sleep(INTERVAL).await;
        }
    })?;
    Ok(if ended == RolloutPhase::Complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The waves as bars, the times, and the objects in flight. `now` is in seconds since 1970.
fn progress(status: &RolloutStatus, now: u64) -> String {
    let widest = status.waves.iter().map(|wave| wave.name.chars().count()).max().unwrap_or_default();
    let mut lines: Vec<String> = status
        .waves
        .iter()
        .map(|wave| {
            let full = (wave.done * BAR).checked_div(wave.total).unwrap_or(BAR).min(BAR);
            let bar = "#".repeat(full) + &".".repeat(BAR - full);
            format!("  {:<widest$}  {bar}  {}/{}", wave.name, wave.done, wave.total)
        })
        .collect();
    let since = |time: &str| wall(time).map(|time| age(now.saturating_sub(time)));
    lines.extend(status.started.as_deref().and_then(since).map(|age| format!("  started   {age} ago")));
    if !status.is_over() {
        let wave = status.wave.as_deref().zip(status.wave_since.as_deref().and_then(since));
        lines.extend(wave.map(|(wave, age)| format!("  reached   wave {wave} {age} ago")));
    }
    lines.extend(status.in_flight.iter().take(OBJECTS).map(|one| {
        let way = if one.back { "back" } else { "forward" };
        let age = since(&one.since).map(|age| format!(" for {age}")).unwrap_or_default();
        format!("  in flight {}, {way}{age}", one.object)
    }));
    let rest = status.in_flight.len().saturating_sub(OBJECTS);
    if rest > 0 {
        lines.push(format!("  in flight {rest} more"));
    }
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

/// A duration in its largest two units.
fn age(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// As often as the runner stores its status at most.
const INTERVAL: Duration = Duration::from_secs(2);

/// Characters of a full bar.
const BAR: usize = 30;

/// Objects in flight that are listed: with the rest of the status, they fit on a screen.
const OBJECTS: usize = 10;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(document: &Value) -> RolloutStatus {
        RolloutStatus::of(&json!({"status": document}))
    }

    #[test]
    fn progress_shows_waves_times_and_objects() {
        let status = status(&json!({
            "phase": "Rolling", "started": "1970-01-01T00:00:00Z", "wave": "all", "waveSince": "1970-01-01T01:00:00Z",
            "waves": [{"name": "canary", "done": 2, "total": 2}, {"name": "all", "done": 3, "total": 10}],
            "inFlight": [
                {"object": "n/a", "uid": "1", "since": "1970-01-01T01:59:00Z"},
                {"object": "n/b", "uid": "2", "since": "1970-01-01T01:59:30Z", "back": true},
            ],
        }));
        let expected = "
  canary  ##############################  2/2
  all     #########.....................  3/10
  started   2 h 0 min ago
  reached   wave all 1 h 0 min ago
  in flight n/a, forward for 1 min 0 s
  in flight n/b, back for 30 s
";
        assert_eq!(progress(&status, 7_200), expected);
    }

    #[test]
    fn progress_of_new_rollout_is_empty() {
        assert_eq!(progress(&RolloutStatus::default(), 0), "");
        let none = status(&json!({"waves": [{"name": "empty", "done": 0, "total": 0}]}));
        assert!(progress(&none, 0).contains("##  0/0"), "a wave without objects is complete");
    }

    #[test]
    fn long_list_of_objects_is_cut() {
        let one = |at: usize| json!({"object": format!("n/{at}"), "uid": "1", "since": ""});
        let all = status(&json!({"inFlight": (0..12).map(one).collect::<Vec<_>>()}));
        let text = progress(&all, 0);
        assert!(text.contains("in flight n/9, forward\n  in flight 2 more\n"), "{text}");
    }
}
