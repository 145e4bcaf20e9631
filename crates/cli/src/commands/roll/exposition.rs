//! How rolls stand, as metrics: for whoever wants to be woken by one.

use pointsman_core::roll::{RollCounts, RollStatus};
use serde_json::Value;

use crate::commands::gauge::{MetricSample, gauge};

/// All of it; `now` is in seconds since 1970.
pub(super) fn exposition(documents: &[Value], now: u64) -> String {
    let rolls: Vec<SeenRoll<'_>> = documents.iter().map(SeenRoll::of).collect();
    let mut text = String::new();
    let mut add = |name: &str, help: &str, samples| gauge(&mut text, name, help, samples);
    add("rolls_timestamp_seconds", "When rolls were looked at, in seconds since the epoch.", vec![(Vec::new(), now)]);
    add(
        "roll_phase",
        "The phase that a roll is in, and why; always 1.",
        each(&rolls, |roll| {
            let reason = roll.status.reason.as_deref().unwrap_or_default();
            vec![(vec![("phase", roll.phase.as_str()), ("reason", reason)], 1)]
        }),
    );
    add(
        "roll_objects",
        "Objects of a roll, by how they stand.",
        each(&rolls, |roll| states(&roll.status.counts).map(|(state, count)| (vec![("state", state)], count)).to_vec()),
    );
    add(
        "roll_wave_objects",
        "Objects of a wave, and those of them that are through.",
        each(&rolls, |roll| {
            let waves = roll.status.waves.iter().flat_map(|wave| {
                [("total", wave.total), ("done", wave.done)]
                    .map(|(what, count)| (vec![("wave", wave.name.as_str()), ("objects", what)], number(count)))
            });
            waves.collect()
        }),
    );
    text
}

/// A roll as it is told.
struct SeenRoll<'d> {
    name: &'d str,
    kind: &'d str,
    status: RollStatus,
    phase: String,
}

impl<'d> SeenRoll<'d> {
    fn of(document: &'d Value) -> Self {
        let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let status = RollStatus::of(document);
        let phase = format!("{:?}", status.phase);
        Self { name: text("/metadata/name"), kind: text("/spec/kind"), status, phase }
    }
}

/// The samples of each roll, with its name and its kind before their own labels.
fn each<'s>(
    rolls: &'s [SeenRoll<'_>],
    samples: impl Fn(&'s SeenRoll<'_>) -> Vec<MetricSample<'s>>,
) -> Vec<MetricSample<'s>> {
    let of = |roll: &'s SeenRoll<'_>| {
        let SeenRoll { name, kind, .. } = roll;
        let named = samples(roll).into_iter();
        named
            .map(|(labels, value)| ([vec![("roll", *name), ("kind", *kind)], labels].concat(), value))
            .collect::<Vec<_>>()
    };
    rolls.iter().flat_map(of).collect()
}

fn states(counts: &RollCounts) -> [(&'static str, u64); 8] {
    let RollCounts { old, moving, new, failed, held, refused, outside, unhealthy } = *counts;
    [
        ("old", old),
        ("moving", moving),
        ("new", new),
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
    fn each_roll_says_its_phase_its_objects_and_its_waves() {
        let roll = json!({
            "metadata": {"name": "eck"}, "spec": {"kind": "elasticsearch"},
            "status": {
                "phase": "Paused", "reason": "TimedOut", "counts": {"old": 3, "failed": 1},
                "waves": [{"name": "canary", "done": 1, "total": 2}],
            },
        });
        let fresh = json!({"metadata": {"name": "b\"c"}, "spec": {"kind": "boat"}});
        let text = exposition(&[roll, fresh], 100);
        let eck = "{roll=\"eck\",kind=\"elasticsearch\"";
        for line in [
            "pointsman_rolls_timestamp_seconds 100",
            &format!("pointsman_roll_phase{eck},phase=\"Paused\",reason=\"TimedOut\"}} 1"),
            "pointsman_roll_phase{roll=\"b\\\"c\",kind=\"boat\",phase=\"Pending\",reason=\"\"} 1",
            &format!("pointsman_roll_objects{eck},state=\"old\"}} 3"),
            &format!("pointsman_roll_objects{eck},state=\"failed\"}} 1"),
            &format!("pointsman_roll_wave_objects{eck},wave=\"canary\",objects=\"total\"}} 2"),
            &format!("pointsman_roll_wave_objects{eck},wave=\"canary\",objects=\"done\"}} 1"),
        ] {
            assert!(text.lines().any(|told| told == line), "{line}: {text}");
        }
    }
}
