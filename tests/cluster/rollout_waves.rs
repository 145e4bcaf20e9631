//! What a rollout waits for between its waves.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, Sample};
use crate::support::scene::{MERGE, Scene};
use crate::support::side_by_side::{A, B};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("wave_starts_after_approval_and_checks", waits).of(&ENGINES).newest()];

const JSON: &str = "application/json";

/// A cluster with a canary and two other healthy engines at A, whose definition asks a ConfigMap before a rollout
/// begins.
fn begins(scene: &Scene<'_>) {
    let file = scene.setup.kinds.join("kind.yaml");
    let definition = fs::read_to_string(&file).unwrap();
    let check = format!(
        "{{name: notes, list: configmaps, namespace: {}, where: watched=yes, every: {{field: data.ready, in: [\"yes\"]}}}}",
        scene.ns
    );
    fs::write(&file, format!("{definition}\nchecks:\n  start: [{check}]\n")).unwrap();
    scene.install(&scene.printed_crd(&[]));
    scene.knows_rollouts();
    scene.engines(&["e-00", "e-01", "e-02"].map(str::to_owned), Some(A));
    scene.patch(scene.sample.new, "e-01", &json!({"metadata": {"labels": {"rollout": "canary"}}})).ok();
    let note = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note", "labels": {"watched": "yes"}},
        "data": {"ready": "yes"},
    });
    let all = format!("/api/v1/namespaces/{}/configmaps", scene.ns);
    assert_eq!(scene.call(Method::POST, &all, Some((JSON, note.to_string()))).code, 201);
}

fn ready(scene: &Scene<'_>, ready: &str) {
    let one = format!("/api/v1/namespaces/{}/configmaps/note", scene.ns);
    let said = json!({"data": {"ready": ready}}).to_string();
    assert_eq!(scene.call(Method::PATCH, &one, Some((MERGE, said))).code, 200);
}

/// What the API server says of a StagedRollout with this in its first wave, which is not stored.
fn judged(scene: &Scene<'_>, more: &Value) -> (u16, String) {
    let mut wave = json!({"name": "canary", "selector": {"labels": "a=b"}});
    wave.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let spec = json!({"kind": scene.crd_name(), "to": B, "waves": [wave, {"name": "rest"}]});
    let name = format!("{}-tried", scene.ns);
    let rollout =
        json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": name}, "spec": spec});
    let answer =
        scene.call(Method::POST, "/apis/pointsman.dev/v1/stagedrollouts?dryRun=All", Some((JSON, rollout.to_string())));
    (answer.code, answer.body["message"].as_str().unwrap_or_default().to_owned())
}

fn waits(scene: &Scene<'_>) {
    begins(scene);
    for fine in [json!("approval"), json!({"wait": "10m"}), json!(["approval", "checks", {"wait": "10m"}])] {
        for side in ["before", "after"] {
            assert_eq!(judged(scene, &json!({side: fine})), (201, String::new()), "{side} {fine}");
        }
    }
    for bad in [json!("sometime"), json!([]), json!(["checks", "checks", "checks", "checks"]), json!({})] {
        let (code, message) = judged(scene, &json!({"before": bad}));
        assert!(code == 422 && message.contains("spec.waves[0].before"), "{bad}: {code} {message}");
    }
    let before = json!(["approval", "checks", {"wait": "2s"}]);
    let canary = json!({"name": "canary", "selector": {"labels": "rollout=canary"}});
    let waves = json!([canary, {"name": "rest", "maxInFlight": 2, "before": before}]);
    let file = scene.rollout_file(&json!({"waves": waves})).display().to_string();
    let words = "before rest: 2s go by, its start checks hold again, somebody approves";
    let plan = scene.commanded(&["rollout", "plan", "-f", &file]);
    assert!(plan.lines().any(|line| line == words), "{plan}");
    let page = scene.commanded(&["rollout", "plan", "-f", &file, "-o", "html"]);
    assert!(page.contains("before: 2s go by, its start checks hold again, somebody approves"), "{page}");
    scene.commanded(&["rollout", "start", "-f", &file]);
    under_way(scene);
    scene.forgets_rollout();
}

fn under_way(scene: &Scene<'_>) {
    let _controllers = Controllers::start(scene, |_, _| Some(true));
    let moved = || scene.versions().get(B).copied().unwrap_or_default();
    let mut running = scene.rollouts_on("one");
    let status = scene.rollout_says("rest 0/2, before it: waiting for approval");
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Waiting"), &json!("Approval")));
    let metrics = scene.does(&["list", "-o", "prometheus"]);
    assert!(metrics.contains("phase=\"Waiting\",reason=\"Approval\"} 1"), "{metrics}");
    let shown = scene.does(&["status"]);
    for line in ["rest 0/2  <- before it", &format!("next      pointsman rollout approve {} rest --before", scene.ns)] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    scene.rollout_tells(&scene.ns, "Approval", "before it");
    // Whoever runs it next knows no more than the StagedRollout says.
    running.kill();
    ready(scene, "no");
    let mut running = scene.rollouts_on("one");
    scene.rollout_says("notes: configmaps");
    assert_eq!(moved(), 1);
    assert_eq!(scene.does(&["approve", "rest"]), format!("rollout {}: rest may begin\n", scene.ns));
    let shut = scene.rollout_says("Checks");
    let why = format!("before it: notes: configmaps {}/note: ", scene.ns);
    assert!(shut["message"].as_str().unwrap().contains(&why), "{shut}");
    sleep(Duration::from_secs(6));
    assert_eq!(moved(), 1, "what does not hold is waited for");
    ready(scene, "yes");
    scene.rollout_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    assert_eq!((moved(), scene.rollout_writes().len()), (3, 3));
    let late = scene.refused(&["rollout", "approve", &scene.ns, "rest"]);
    assert!(late.contains("is Complete: nothing waits for an approval"), "{late}");
}
