//! Requests of operators: each request changes the rollout, or reports that it changes nothing and which request would.

use pointsman_rollout::{RolloutRequest, restarts_forward};
use serde_json::{Value, json};

fn rollout(spec: &Value, status: &Value) -> Value {
    let mut all = json!({"kind": "database", "to": "2.17.0", "waves": [{"name": "all"}]});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let mut told = json!({"started": "2026-11-18T10:00:00Z"});
    told.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
    json!({"metadata": {"name": "r"}, "spec": all, "status": told})
}

fn refused(request: RolloutRequest, spec: &Value, status: &Value) -> Option<String> {
    let no = request.check(&rollout(spec, status), "").err()?;
    Some(format!("{} | {}", no.why, no.hint))
}

#[test]
fn request_without_effect_names_another_command() {
    use RolloutRequest::{Abort, Pause, Resume, Undo};
    let complete = json!({"phase": "Complete"});
    let back = json!({"phase": "Aborted", "reason": "RolledBack", "direction": "Undo"});
    let stopped = json!({"phase": "Aborted", "reason": "Stopped", "direction": "Abort"});
    let rolling = json!({"phase": "Rolling"});
    let halted = json!({"phase": "Paused", "reason": "TimedOut", "conditions": [{"type": "Paused", "status": "True", "lastTransitionTime": "2026-11-18T10:00:00Z", "reason": "TimedOut", "message": "m"}]});
    let is_undo = json!({"direction": "Undo"});
    for (request, spec, status, said) in [
        (Resume, json!({}), &complete, "cannot resume rollout r: it is Complete | pointsman rollout undo r moves"),
        (Pause, json!({}), &complete, "cannot pause rollout r: it is Complete | pointsman rollout undo r moves"),
        (Abort, json!({}), &complete, "cannot abort rollout r: it is Complete | pointsman rollout undo r moves"),
        (Resume, is_undo.clone(), &back, "it is Aborted (RolledBack) | pointsman rollout start -f FILE"),
        (Undo, is_undo.clone(), &back, "cannot undo rollout r: it is Aborted (RolledBack) | pointsman rollout start"),
        (Abort, json!({"direction": "Abort"}), &stopped, "it is Aborted (Stopped) | pointsman rollout start -f FILE"),
        (Resume, json!({}), &rolling, "cannot resume rollout r: it is Rolling | pointsman rollout run r"),
        (
            Undo,
            is_undo,
            &json!({"phase": "Rolling", "direction": "Undo"}),
            "the rollout is being undone already | pointsman",
        ),
        (
            Undo,
            json!({"direction": "Undo"}),
            &complete,
            "the rollout is being undone already | pointsman rollout run r",
        ),
        (Pause, json!({"paused": true}), &rolling, "the rollout is paused already | pointsman rollout resume r"),
        (Pause, json!({}), &halted, "the rollout is paused already | pointsman rollout resume r"),
        (Abort, json!({"direction": "Abort"}), &rolling, "the rollout is ending already | pointsman rollout run r"),
        (
            Undo,
            json!({}),
            &json!({"started": null, "phase": "Pending"}),
            "the rollout has moved no object | kubectl delete stagedrollouts r",
        ),
        (
            Resume,
            json!({}),
            &json!({"started": null, "phase": "Pending"}),
            "it has not started | pointsman rollout run r",
        ),
    ] {
        let told = refused(request, &spec, status).unwrap_or_default();
        assert!(told.contains(said), "{request:?} {spec} {status}: {told}");
    }
}

#[test]
fn hint_repeats_given_flags() {
    let flags = " --kinds d";
    let hint = |request: RolloutRequest, spec: Value, status: Value| {
        request.check(&rollout(&spec, &status), flags).unwrap_err().hint
    };
    let complete = json!({"phase": "Complete"});
    let said = hint(RolloutRequest::Pause, json!({}), complete.clone());
    assert_eq!(said, "pointsman rollout undo r --kinds d moves its objects back");
    let said = hint(RolloutRequest::Abort, json!({"direction": "Abort"}), json!({"phase": "Rolling"}));
    assert_eq!(said, "pointsman rollout run r --kinds d");
    let back = json!({"phase": "Aborted", "reason": "RolledBack", "direction": "Undo"});
    let said = hint(RolloutRequest::Resume, json!({"direction": "Undo"}), back);
    assert!(said.starts_with("pointsman rollout start -f FILE --kinds d, with"), "{said}");
    let file = rollout(&json!({}), &json!({}));
    let said = restarts_forward(&rollout(&json!({}), &complete), &file, flags).unwrap_err().hint;
    assert!(said.contains("pointsman rollout undo r --kinds d"), "{said}");
}

#[test]
fn request_with_effect_passes() {
    use RolloutRequest::{Abort, Pause, Resume, Undo};
    let halted = json!({"phase": "Paused", "conditions": [{"type": "Paused", "status": "True", "lastTransitionTime": "2026-11-18T10:00:00Z", "reason": "TimedOut", "message": "m"}]});
    let left = json!({"phase": "Aborted", "reason": "RolledBack", "direction": "Undo", "counts": {
        "old": 0, "moving": 0, "new": 0, "failed": 0, "held": 0, "refused": 1, "outside": 0, "unhealthy": 0,
    }});
    for (request, spec, status) in [
        (Pause, json!({}), json!({"phase": "Rolling"})),
        (Pause, json!({}), json!({"started": null, "phase": "Pending"})),
        (Resume, json!({"paused": true}), json!({"phase": "Paused"})),
        (Resume, json!({}), halted.clone()),
        (Resume, json!({}), json!({"phase": "Failed"})),
        (Resume, json!({"direction": "Undo"}), left),
        (Undo, json!({}), json!({"phase": "Complete"})),
        (Undo, json!({}), halted),
        (Undo, json!({"direction": "Undo", "paused": true}), json!({"phase": "Paused", "direction": "Undo"})),
        (Undo, json!({"direction": "Abort"}), json!({"phase": "Aborted", "direction": "Abort"})),
        (Abort, json!({}), json!({"phase": "Rolling"})),
        (Abort, json!({}), json!({"phase": "Failed"})),
        (Abort, json!({}), json!({"started": null, "phase": "Pending"})),
    ] {
        assert_eq!(refused(request, &spec, &status), None, "{request:?} {spec} {status}");
    }
}

#[test]
fn same_document_starts_only_another_way() {
    let file = rollout(&json!({}), &json!({}));
    let again = |spec: Value, status: Value| restarts_forward(&rollout(&spec, &status), &file, "").map_err(|no| no.why);
    let back = json!({"direction": "Undo"});
    assert_eq!(again(back.clone(), json!({"phase": "Aborted", "direction": "Undo"})), Ok(true));
    assert_eq!(again(back, json!({"phase": "Rolling", "direction": "Undo"})), Ok(true));
    assert_eq!(again(json!({}), json!({"phase": "Aborted", "direction": "Undo", "undoAll": true})), Ok(true));
    assert_eq!(again(json!({"direction": "Abort"}), json!({"phase": "Aborted", "direction": "Abort"})), Ok(true));
    // A rollout that has not started accepts repeated applies, and so does a document with changes.
    assert_eq!(again(json!({}), json!({"started": null, "phase": "Pending"})), Ok(false));
    assert_eq!(again(json!({"timeout": "5m"}), json!({"phase": "Rolling"})), Err(told("Rolling")));
    let more = rollout(&json!({"timeout": "9m"}), &json!({}));
    assert_eq!(restarts_forward(&rollout(&json!({}), &json!({"phase": "Rolling"})), &more, ""), Ok(false));
    assert_eq!(again(json!({}), json!({"phase": "Complete"})), Err(told("Complete")));
    assert_eq!(restarts_forward(&Value::Null, &file, ""), Ok(false), "there is none yet");
}

fn told(phase: &str) -> String {
    format!("cannot start rollout r: the rollout is {phase}, and has this setting already")
}
