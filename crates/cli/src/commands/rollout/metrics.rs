//! The state of rollouts as metrics, for alerts.

use pointsman_rollout::{RolloutCounts, RolloutStatus};
use serde_json::Value;

use crate::commands::gauge::{MetricSample, gauge};

/// All metrics. `now` is in seconds since 1970.
pub(super) fn exposition(documents: &[Value], now: u64) -> String {
    let rollouts: Vec<SeenRollout<'_>> = documents.iter().map(SeenRollout::of).collect();
    let mut text = String::new();
    let mut add = |name: &str, help: &str, samples| gauge(&mut text, name, help, samples);
    add(
        "rollouts_timestamp_seconds",
        "Time of the last read of all rollouts, in seconds since the epoch.",
        vec![(Vec::new(), now)],
    );
    add(
        "rollout_phase",
        "Phase and reason of a rollout; always 1.",
        each(&rollouts, |rollout| {
            let reason = rollout.status.reason.as_deref().unwrap_or_default();
            vec![(vec![("phase", rollout.phase.as_str()), ("reason", reason)], 1)]
        }),
    );
    add(
        "rollout_objects",
        "Objects of a rollout, by state.",
        each(&rollouts, |rollout| {
            states(&rollout.status.counts).map(|(state, count)| (vec![("state", state)], count)).to_vec()
        }),
    );
    add(
        "rollout_wave_objects",
        "Objects of a wave, and completed objects of the wave.",
        each(&rollouts, |rollout| {
            let waves = rollout.status.waves.iter().flat_map(|wave| {
                [("total", wave.total), ("done", wave.done)]
                    .map(|(what, count)| (vec![("wave", wave.name.as_str()), ("objects", what)], number(count)))
            });
            waves.collect()
        }),
    );
    text
}

/// A rollout with its labels.
struct SeenRollout<'d> {
    name: &'d str,
    kind: &'d str,
    status: RolloutStatus,
    phase: String,
}

impl<'d> SeenRollout<'d> {
    fn of(document: &'d Value) -> Self {
        let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let status = RolloutStatus::of(document);
        let phase = format!("{:?}", status.phase);
        Self { name: text("/metadata/name"), kind: text("/spec/kind"), status, phase }
    }
}

/// The samples of each rollout, with its name and its kind before the other labels.
fn each<'s>(
    rollouts: &'s [SeenRollout<'_>],
    samples: impl Fn(&'s SeenRollout<'_>) -> Vec<MetricSample<'s>>,
) -> Vec<MetricSample<'s>> {
    let of = |rollout: &'s SeenRollout<'_>| {
        let SeenRollout { name, kind, .. } = rollout;
        let named = samples(rollout).into_iter();
        named
            .map(|(labels, value)| ([vec![("rollout", *name), ("kind", *kind)], labels].concat(), value))
            .collect::<Vec<_>>()
    };
    rollouts.iter().flat_map(of).collect()
}

fn states(counts: &RolloutCounts) -> [(&'static str, u64); 8] {
    let RolloutCounts { pending, in_flight, updated, failed, held, refused, outside, unhealthy } = *counts;
    [
        ("pending", pending),
        ("in-flight", in_flight),
        ("updated", updated),
        ("failed", failed),
        ("held", held),
        ("refused", refused),
        ("outside", outside),
        ("unhealthy", unhealthy),
    ]
    .map(|(state, count)| (state, number(count)))
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metrics_have_phase_objects_waves() {
        let rollout = json!({
            "metadata": {"name": "eck"}, "spec": {"kind": "elasticsearch"},
            "status": {
                "phase": "Paused", "reason": "TimedOut", "counts": {"pending": 3, "failed": 1},
                "waves": [{"name": "canary", "done": 1, "total": 2}],
            },
        });
        let fresh = json!({"metadata": {"name": "b\"c"}, "spec": {"kind": "database"}});
        let text = exposition(&[rollout, fresh], 100);
        let eck = "{rollout=\"eck\",kind=\"elasticsearch\"";
        for line in [
            "pointsman_rollouts_timestamp_seconds 100",
            &format!("pointsman_rollout_phase{eck},phase=\"Paused\",reason=\"TimedOut\"}} 1"),
            "pointsman_rollout_phase{rollout=\"b\\\"c\",kind=\"database\",phase=\"Pending\",reason=\"\"} 1",
            &format!("pointsman_rollout_objects{eck},state=\"pending\"}} 3"),
            &format!("pointsman_rollout_objects{eck},state=\"failed\"}} 1"),
            &format!("pointsman_rollout_wave_objects{eck},wave=\"canary\",objects=\"total\"}} 2"),
            &format!("pointsman_rollout_wave_objects{eck},wave=\"canary\",objects=\"done\"}} 1"),
        ] {
            assert!(text.lines().any(|text_line| text_line == line), "{line}: {text}");
        }
    }
}
