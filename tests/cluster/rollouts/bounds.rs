//! The limits of the CRD of StagedRollouts, and StagedRollouts that the CRD accepts but the runner cannot read.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("rollout_crd_has_parser_bounds", bounded).of(&ENGINES),
    Scenario::new("unreadable_rollout_resumes_after_repair", unreadable).of(&ENGINES).newest(),
];

/// Replaces a number in braces by as many letters.
fn filled(text: &str) -> String {
    let lengths = [63, 64, 200, 201, 253, 254];
    lengths.iter().fold(text.to_owned(), |text, length| text.replace(&format!("{{{length}}}"), &"a".repeat(*length)))
}

/// The table that also tests the parser of StagedRollouts, in crates/rollout/tests/rollouts/bounds.rs.
fn bounded(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let document: Value = serde_saphyr::from_str(&filled(include_str!("../../data/rollout_bounds.yaml"))).unwrap();
    let judged = |rollout: &Value| {
        let path = "/apis/pointsman.dev/v1/stagedrollouts?dryRun=All";
        let answer = ctx.call(Method::POST, path, Some(("application/json", rollout.to_string())));
        (answer.code, answer.body["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(judged(&document["rollout"]), (201, String::new()));
    for place in document["places"].as_array().unwrap() {
        let at = place["at"].as_str().unwrap();
        for (word, code) in [("takes", 201), ("refuses", 422)] {
            for value in place[word].as_array().unwrap() {
                let mut rollout = document["rollout"].clone();
                *rollout.pointer_mut(at).unwrap() = value.clone();
                let (answered, message) = judged(&rollout);
                assert_eq!(answered, code, "{at}: {value}: {message}");
            }
        }
    }
}

/// An order by an unknown field: the schema of StagedRollouts cannot detect the error.
fn unreadable(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    ctx.engines(&["e-0", "e-1", "e-2"].map(str::to_owned), Some(A));
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 1}], "timeout": "10m"}));
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("all 0/3, 1 in flight");
    ctx.eventually(|| (ctx.versions().get(B) == Some(&1)).then_some(()));
    let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{}", ctx.ns);
    let orders = |order: Value| {
        let patch = json!({"spec": {"order": order}}).to_string();
        ctx.call(Method::PATCH, &path, Some((MERGE, patch))).ok();
    };
    orders(json!({"by": "spec.nothing"}));
    let status = ctx.rollout_says("(\"Unreadable\")");
    assert_eq!((&status["phase"], status["inFlight"].as_array().unwrap().len()), (&json!("Paused"), 1), "{status}");
    assert!(status["message"].as_str().unwrap().contains("has no field spec.nothing"), "{status}");
    ctx.rollout_tells(&ctx.ns, "Unreadable", "has no field spec.nothing");
    assert!(ctx.does(&["status"]).contains(&format!("next      kubectl edit stagedrollouts {}", ctx.ns)));
    // Other runners, with `--once` or for all rollouts, report the same and move no object.
    ctx.eventually(|| {
        let (code, text, errors) = ctx.runs_rollout(&["--once"]);
        assert_eq!(code, 1, "{text} {errors}");
        // The other process holds the rollout at times.
        text.contains(" Paused: the StagedRollout is invalid").then_some(())
    });
    let mut all = ctx.rollouts_all_on("all");
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!((running.obituary(), all.obituary()), (None, None), "each waits until it is mended");
    assert_eq!(ctx.versions(), [(A.to_owned(), 2), (B.to_owned(), 1)].into());
    all.kill();
    orders(Value::Null);
    ctx.rollout_says("all 0/3, 1 in flight");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.rollout_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    assert_eq!(ctx.rollout_writes().len(), 3);
    ctx.forgets_rollout();
}
