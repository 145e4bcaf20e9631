//! The policy that protects promoting objects, on the real API server.

use hyper::Method;
use serde_json::{Value, json};

use crate::controllers::{Phase, SECOND, new_controller, old_controller};
use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::{MERGE, TestContext};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("promotion_keeps_requested_spec", promoted).materialize().failing()];

fn promoted(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.enable(new);
    for name in ["a", "b"] {
        ctx.create(new, &ctx.object(new, name)).ok();
        new_controller(ctx, name, Phase::Applying);
    }
    let kind = format!("--kind={}", ctx.crd_name());
    let (code, text, errors) = ctx.told_of(&["webhooks", "policy", &kind, "--output=json"], &Value::Null);
    assert_eq!(code, 0, "{errors}");
    let printed: Value = serde_json::from_str(&text).unwrap();
    ctx.kubectl(&["apply"], &printed);
    let requested = || ctx.get(new, "a").ok()["status"]["requestedRolloutHash"].clone();
    new_controller(ctx, "a", Phase::Promoting);
    let promoted = requested();
    let other = json!({"requestedRolloutHash": "0123456789abcdef"});
    ctx.eventually(|| (!tries(ctx, &other).is_ok()).then_some(()));
    let said = tries(ctx, &other).fails(422);
    let words = format!("status.requestedRolloutHash stays {promoted} until status.lastCompletedRolloutHash is equal");
    assert!(said.contains(&words) && said.contains("a condition has Promoting"), "{said}");
    // A controller that lost its state, or reverts it.
    let applying = json!([{
        "type": "UpToDate", "status": "Unknown", "reason": "Applying", "message": "it started again",
        "lastTransitionTime": "2026-02-10T12:00:00Z", "observedGeneration": 1,
    }]);
    tries(ctx, &json!({"requestedRolloutHash": "0123456789abcdef", "conditions": applying})).fails(422);
    tries(ctx, &json!({"requestedRolloutHash": null})).fails(422);
    // Writes outside the scope of the policy.
    tries(ctx, &json!({"activeGeneration": 7})).ok();
    ctx.patch(new, "a", &json!({"spec": {"consoleReplicas": 3}})).ok();
    old_controller(ctx, "b", Phase::Promoting, SECOND);
    // A completed rollout may be followed by the next one, in one write or in two.
    let next = json!({"requestedRolloutHash": "0123456789abcdef", "lastCompletedRolloutHash": promoted});
    tries(ctx, &next).ok();
    assert_eq!(requested(), promoted);
    new_controller(ctx, "a", Phase::Settled);
    tries(ctx, &other).ok();
    // No pointsman server runs.
    let image = json!({"spec": {"environmentdImageRef": "materialize/environmentd:v26.13.0"}});
    ctx.patch(new, "a", &image).ok();
    new_controller(ctx, "a", Phase::Promoting);
    ctx.stop_pointsman();
    tries(ctx, &other).fails(422);
    ctx.kubectl(&["delete"], &printed);
    ctx.eventually(|| tries(ctx, &other).is_ok().then_some(()));
}

/// Writes members of the status in a dry run.
fn tries(ctx: &TestContext<'_>, members: &Value) -> Answer {
    let path = format!("{}/status?dryRun=All", ctx.one(ctx.sample.new, "a"));
    ctx.call(Method::PATCH, &path, Some((MERGE, json!({"status": members}).to_string())))
}
