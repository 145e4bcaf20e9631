//! The conditions of a status.

use std::time::Duration;

use pointsman_rollout::{ClockReading, Condition, RolloutStatus};
use serde_json::{Value, json};

use crate::patches::NOW;

fn find<'s>(status: &'s RolloutStatus, kind: &str) -> &'s Condition {
    status.conditions.iter().find(|one| one.kind == kind).unwrap()
}

fn paused(reason: &str) -> Value {
    json!({"status": {
        "phase": "Paused", "reason": reason, "message": "m", "started": "2026-11-18T10:00:00Z", "observedGeneration": 3,
        "conditions": [
            {"type": "Paused", "status": "True", "lastTransitionTime": "2026-11-18T10:00:00Z", "reason": reason, "message": "m"},
        ],
    }})
}

#[test]
fn failure_pause_is_a_condition() {
    let status = RolloutStatus::of(&paused("TimedOut"));
    let halt = status.halted.as_ref().unwrap();
    assert_eq!((halt.reason.as_str(), halt.message.as_str()), ("TimedOut", "m"));
    assert!(status.to_json().get("halted").is_none());
    assert_eq!(RolloutStatus::of(&json!({"status": status.to_json()})), status);
    for reason in ["Requested", "Unreadable"] {
        assert_eq!(RolloutStatus::of(&paused(reason)).halted, None, "{reason}");
    }
}

#[test]
fn resume_ends_stop_and_keeps_generation() {
    let mut status = RolloutStatus::of(&paused("TimedOut"));
    status.resume(NOW);
    let paused = find(&status, "Paused");
    assert_eq!((paused.status.as_str(), paused.observed_generation), ("False", Some(3)));
    assert_eq!(find(&status, "Progressing").status, "True");
    assert_eq!(RolloutStatus::of(&json!({"status": status.to_json()})).halted, None);
}

#[test]
fn transition_time_changes_with_status_alone() {
    let status = RolloutStatus::of(&paused("TimedOut"));
    let later = ClockReading { wall: NOW.wall + 3600, steady: Duration::ZERO };
    let first = status.awaiting("a", NOW);
    assert_eq!(find(&first, "Progressing").reason, "APIError");
    let second = first.awaiting("b", later);
    let [one, other] = [&first, &second].map(|status| find(status, "Progressing"));
    assert_eq!(one.last_transition_time, other.last_transition_time);
    assert_eq!((one.message.as_str(), other.message.as_str()), ("a", "b"));
    let mut third = second;
    third.resume(later);
    assert_ne!(find(&third, "Paused").last_transition_time, "2026-11-18T10:00:00Z");
}
