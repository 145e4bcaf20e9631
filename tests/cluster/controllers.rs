//! Fakes of the two controllers of Materialize: their writes only.
//!
//! Both replace the whole status through the status subresource, like the real controllers.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::{Value, json};

use crate::support::ctx::TestContext;

/// The phase of a rollout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Phase {
    Fresh,
    Settled,
    Applying,
    Promoting,
    Staged,
    Failed,
}

pub(crate) const PHASES: [Phase; 6] =
    [Phase::Fresh, Phase::Settled, Phase::Applying, Phase::Promoting, Phase::Staged, Phase::Failed];

pub(crate) const FIRST: &str = "11111111-1111-1111-1111-111111111111";
pub(crate) const SECOND: &str = "22222222-2222-2222-2222-222222222222";
pub(crate) const THIRD: &str = "33333333-3333-3333-3333-333333333333";
pub(crate) const NIL: &str = "00000000-0000-0000-0000-000000000000";

impl Phase {
    /// The reason and the status of the only condition.
    fn condition(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Fresh => None,
            Self::Settled => Some(("Applied", "True")),
            Self::Applying => Some(("Applying", "Unknown")),
            Self::Promoting => Some(("Promoting", "Unknown")),
            Self::Staged => Some(("WaitingForApproval", "False")),
            Self::Failed => Some(("FailedDeploy", "False")),
        }
    }

    fn conditions(self) -> Value {
        self.condition().map_or_else(
            || json!([]),
            |(reason, status)| {
                json!([{
                    "type": "UpToDate", "status": status, "reason": reason, "message": format!("it is {reason}"),
                    "lastTransitionTime": "2026-02-10T12:00:00Z", "observedGeneration": 1,
                }])
            },
        )
    }
}

/// The controller of v1alpha1 replaces the status: `requested` is the request of the spec.
pub(crate) fn old_controller(ctx: &TestContext<'_>, name: &str, phase: Phase, requested: &str) {
    let completed = match phase {
        Phase::Fresh => NIL,
        Phase::Settled | Phase::Staged => requested,
        _ => FIRST,
    };
    let hash = match phase {
        Phase::Fresh | Phase::Applying => "",
        _ => "0d1b7e",
    };
    let mut object = ctx.get(ctx.sample.old, name).ok();
    object["status"] = json!({
        "resourceId": "q4v9k2m7xa", "activeGeneration": 3, "resourcesHash": hash,
        "lastCompletedRolloutRequest": completed,
        "lastCompletedRolloutEnvironmentdImageRef": "materialize/environmentd:v26.11.0",
        "conditions": phase.conditions(),
    });
    let path = format!("{name}/status");
    ctx.update(ctx.sample.old, &path, &object).ok();
}

/// The controller of v1alpha2 replaces the status. Settled means that the current request is complete.
pub(crate) fn new_controller(ctx: &TestContext<'_>, name: &str, phase: Phase) {
    let mut object = ctx.get(ctx.sample.new, name).ok();
    let wanted = calculated(ctx, name);
    let before = object["status"]["lastCompletedRolloutHash"].clone();
    let completed = match phase {
        Phase::Settled => json!(wanted),
        _ => before,
    };
    object["status"] = json!({
        "resourceId": "q4v9k2m7xa", "activeGeneration": 4,
        "lastCompletedRolloutEnvironmentdImageRef": "materialize/environmentd:v26.12.0",
        "requestedRolloutHash": wanted, "conditions": phase.conditions(),
    });
    if completed.is_string() {
        object["status"]["lastCompletedRolloutHash"] = completed;
    }
    let path = format!("{name}/status");
    ctx.update(ctx.sample.new, &path, &object).ok();
}

/// The rollout hash of an object's spec, as the controller of v1alpha2 computes it.
pub(crate) fn calculated(ctx: &TestContext<'_>, name: &str) -> String {
    let read = |file: &str| std::fs::read_to_string(ctx.setup.kinds.join(file));
    let definition = read("kind.yaml").unwrap();
    let kind = Kind::load("kind.yaml", &definition, &mut |file| read(file)).unwrap();
    let webhook = Webhook::new(vec![kind], Metadata::Full).unwrap();
    let object = ctx.get(ctx.sample.new, name).ok();
    webhook.preimage(&object.to_string()).unwrap().hash()
}

/// True if the controller of v1alpha2 would start a rollout: the completed hash differs from the desired hash.
pub(crate) fn rollouts(ctx: &TestContext<'_>, name: &str) -> bool {
    let object = ctx.get(ctx.sample.new, name).ok();
    object["status"]["lastCompletedRolloutHash"] != json!(calculated(ctx, name))
}

/// True if automation at v1alpha1 that waits for its request observes the completion.
pub(crate) fn reports_completion(ctx: &TestContext<'_>, name: &str) -> bool {
    let object = ctx.get(ctx.sample.old, name).ok();
    let requested = &object["spec"]["requestRollout"];
    assert!(requested.is_string(), "{object:#}");
    *requested == object["status"]["lastCompletedRolloutRequest"]
}
