//! Requests of people: each changes something, or says that it does not, and what does.

use pointsman_core::roll::{RollRequest, goes_forward_again};
use serde_json::{Value, json};

fn roll(spec: &Value, status: &Value) -> Value {
    let mut all = json!({"kind": "boat", "to": "2.17.0", "waves": [{"name": "all"}]});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let mut told = json!({"started": "2026-11-18T10:00:00Z"});
    told.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
    json!({"metadata": {"name": "r"}, "spec": all, "status": told})
}

fn refused(request: RollRequest, spec: &Value, status: &Value) -> Option<String> {
    let no = request.check(&roll(spec, status), "").err()?;
    Some(format!("{} | {}", no.why, no.hint))
}

#[test]
fn request_without_effect_names_another_command() {
    use RollRequest::{Abort, Back, Pause, Resume};
    let complete = json!({"phase": "Complete"});
    let back = json!({"phase": "Aborted", "reason": "TakenBack", "direction": "Back"});
    let stopped = json!({"phase": "Aborted", "reason": "Stopped", "direction": "Stop"});
    let rolling = json!({"phase": "Rolling"});
    let halted = json!({"phase": "Paused", "reason": "TimedOut", "halted": {"reason": "TimedOut", "message": "m"}});
    let goes_back = json!({"direction": "Back"});
    for (request, spec, status, said) in [
        (Resume, json!({}), &complete, "cannot resume roll r: it is Complete | pointsman roll back r moves"),
        (Pause, json!({}), &complete, "cannot pause roll r: it is Complete | pointsman roll back r moves"),
        (Abort, json!({}), &complete, "cannot abort roll r: it is Complete | pointsman roll back r moves"),
        (Resume, goes_back.clone(), &back, "it is Aborted (TakenBack) | pointsman roll start -f FILE"),
        (Back, goes_back.clone(), &back, "cannot take back roll r: it is Aborted (TakenBack) | pointsman roll start"),
        (Abort, json!({"direction": "Stop"}), &stopped, "it is Aborted (Stopped) | pointsman roll start -f FILE"),
        (Resume, json!({}), &rolling, "cannot resume roll r: it is Rolling | pointsman roll run r"),
        (Back, goes_back, &json!({"phase": "Rolling", "direction": "Back"}), "it goes back already | pointsman"),
        (Back, json!({"direction": "Back"}), &complete, "it goes back already | pointsman roll run r"),
        (Pause, json!({"paused": true}), &rolling, "it is paused already | pointsman roll resume r"),
        (Pause, json!({}), &halted, "it is paused already | pointsman roll resume r"),
        (Abort, json!({"direction": "Stop"}), &rolling, "it ends already | pointsman roll run r"),
        (
            Back,
            json!({}),
            &json!({"started": null, "phase": "Pending"}),
            "it has moved nothing | kubectl delete roll r",
        ),
        (Resume, json!({}), &json!({"started": null, "phase": "Pending"}), "it has not begun | pointsman roll run r"),
    ] {
        let told = refused(request, &spec, status).unwrap_or_default();
        assert!(told.contains(said), "{request:?} {spec} {status}: {told}");
    }
}

#[test]
fn hint_repeats_given_flags() {
    let flags = " --kinds d";
    let hint = |request: RollRequest, spec: Value, status: Value| {
        request.check(&roll(&spec, &status), flags).unwrap_err().hint
    };
    let complete = json!({"phase": "Complete"});
    let said = hint(RollRequest::Pause, json!({}), complete.clone());
    assert_eq!(said, "pointsman roll back r --kinds d moves its objects back");
    let said = hint(RollRequest::Abort, json!({"direction": "Stop"}), json!({"phase": "Rolling"}));
    assert_eq!(said, "pointsman roll run r --kinds d");
    let back = json!({"phase": "Aborted", "reason": "TakenBack", "direction": "Back"});
    let said = hint(RollRequest::Resume, json!({"direction": "Back"}), back);
    assert!(said.starts_with("pointsman roll start -f FILE --kinds d, with"), "{said}");
    let file = roll(&json!({}), &json!({}));
    let said = goes_forward_again(&roll(&json!({}), &complete), &file, flags).unwrap_err().hint;
    assert!(said.contains("pointsman roll back r --kinds d"), "{said}");
}

#[test]
fn request_with_effect_passes() {
    use RollRequest::{Abort, Back, Pause, Resume};
    let halted = json!({"phase": "Paused", "halted": {"reason": "TimedOut", "message": "m"}});
    let left = json!({"phase": "Aborted", "reason": "TakenBack", "direction": "Back", "counts": {
        "old": 0, "moving": 0, "new": 0, "failed": 0, "held": 0, "refused": 1, "outside": 0, "unhealthy": 0,
    }});
    for (request, spec, status) in [
        (Pause, json!({}), json!({"phase": "Rolling"})),
        (Pause, json!({}), json!({"started": null, "phase": "Pending"})),
        (Resume, json!({"paused": true}), json!({"phase": "Paused"})),
        (Resume, json!({}), halted.clone()),
        (Resume, json!({}), json!({"phase": "Failed"})),
        (Resume, json!({"direction": "Back"}), left),
        (Back, json!({}), json!({"phase": "Complete"})),
        (Back, json!({}), halted),
        (Back, json!({"direction": "Back", "paused": true}), json!({"phase": "Paused", "direction": "Back"})),
        (Back, json!({"direction": "Stop"}), json!({"phase": "Aborted", "direction": "Stop"})),
        (Abort, json!({}), json!({"phase": "Rolling"})),
        (Abort, json!({}), json!({"phase": "Failed"})),
        (Abort, json!({}), json!({"started": null, "phase": "Pending"})),
    ] {
        assert_eq!(refused(request, &spec, &status), None, "{request:?} {spec} {status}");
    }
}

#[test]
fn same_document_starts_only_another_way() {
    let file = roll(&json!({}), &json!({}));
    let again = |spec: Value, status: Value| goes_forward_again(&roll(&spec, &status), &file, "").map_err(|no| no.why);
    let back = json!({"direction": "Back"});
    assert_eq!(again(back.clone(), json!({"phase": "Aborted", "direction": "Back"})), Ok(true));
    assert_eq!(again(back, json!({"phase": "Rolling", "direction": "Back"})), Ok(true));
    assert_eq!(again(json!({}), json!({"phase": "Aborted", "direction": "Back", "backAll": true})), Ok(true));
    assert_eq!(again(json!({"direction": "Stop"}), json!({"phase": "Aborted", "direction": "Stop"})), Ok(true));
    // One that has not begun is applied as often as anybody likes, and so is one that says something new.
    assert_eq!(again(json!({}), json!({"started": null, "phase": "Pending"})), Ok(false));
    assert_eq!(again(json!({"timeout": "5m"}), json!({"phase": "Rolling"})), Err(told("Rolling")));
    let more = roll(&json!({"timeout": "9m"}), &json!({}));
    assert_eq!(goes_forward_again(&roll(&json!({}), &json!({"phase": "Rolling"})), &more, ""), Ok(false));
    assert_eq!(again(json!({}), json!({"phase": "Complete"})), Err(told("Complete")));
    assert_eq!(goes_forward_again(&Value::Null, &file, ""), Ok(false), "there is none yet");
}

fn told(phase: &str) -> String {
    format!("cannot start roll r: it is {phase}, and says the same already")
}
