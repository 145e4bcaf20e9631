//! The policy that keeps what is being promoted, on the real API server.

use hyper::Method;
use serde_json::{Value, json};

use crate::controllers::{Phase, SECOND, new_controller, old_controller};
use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::scene::{MERGE, Scene};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("promotion_keeps_requested_spec", promoted).materialize().failing()];

fn promoted(scene: &Scene<'_>) {
    let new = scene.sample.new;
    scene.enable(new);
    for name in ["a", "b"] {
        scene.create(new, &scene.object(new, name)).ok();
        new_controller(scene, name, Phase::Applying);
    }
    let kind = format!("--kind={}", scene.crd_name());
    let (code, text, errors) = scene.told_of(&["webhooks", "policy", &kind, "--output=json"], &Value::Null);
    assert_eq!(code, 0, "{errors}");
    let printed: Value = serde_json::from_str(&text).unwrap();
    scene.kubectl(&["apply"], &printed);
    let requested = || scene.get(new, "a").ok()["status"]["requestedRolloutHash"].clone();
    new_controller(scene, "a", Phase::Promoting);
    let promoted = requested();
    let other = json!({"requestedRolloutHash": "0123456789abcdef"});
    scene.eventually(|| (!tries(scene, &other).is_ok()).then_some(()));
    let said = tries(scene, &other).fails(422);
    let words =
        format!("status.requestedRolloutHash stays {promoted} until status.lastCompletedRolloutHash is the same");
    assert!(said.contains(&words) && said.contains("a condition says Promoting"), "{said}");
    // A controller that has forgotten what it was doing, or takes it back.
    let applying = json!([{
        "type": "UpToDate", "status": "Unknown", "reason": "Applying", "message": "it began anew",
        "lastTransitionTime": "2026-02-10T12:00:00Z", "observedGeneration": 1,
    }]);
    tries(scene, &json!({"requestedRolloutHash": "0123456789abcdef", "conditions": applying})).fails(422);
    tries(scene, &json!({"requestedRolloutHash": null})).fails(422);
    // What is none of its business.
    tries(scene, &json!({"activeGeneration": 7})).ok();
    scene.patch(new, "a", &json!({"spec": {"consoleReplicas": 3}})).ok();
    old_controller(scene, "b", Phase::Promoting, SECOND);
    // What is completed may be followed by the next one, in one write or in two.
    let next = json!({"requestedRolloutHash": "0123456789abcdef", "lastCompletedRolloutHash": promoted});
    tries(scene, &next).ok();
    assert_eq!(requested(), promoted);
    new_controller(scene, "a", Phase::Settled);
    tries(scene, &other).ok();
    // Nobody of us is there.
    let image = json!({"spec": {"environmentdImageRef": "materialize/environmentd:v26.13.0"}});
    scene.patch(new, "a", &image).ok();
    new_controller(scene, "a", Phase::Promoting);
    scene.stop_pointsman();
    tries(scene, &other).fails(422);
    scene.kubectl(&["delete"], &printed);
    scene.eventually(|| tries(scene, &other).is_ok().then_some(()));
}

/// Writes members of the status, and stores nothing.
fn tries(scene: &Scene<'_>, members: &Value) -> Answer {
    let path = format!("{}/status?dryRun=All", scene.one(scene.sample.new, "a"));
    scene.call(Method::PATCH, &path, Some((MERGE, json!({"status": members}).to_string())))
}
