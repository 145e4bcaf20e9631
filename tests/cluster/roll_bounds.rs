//! What the CRD of Rolls takes, and what becomes of a Roll that it takes and that nobody can read.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, Sample};
use crate::support::scene::{MERGE, Scene};
use crate::support::side_by_side::{A, B};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("rolls_have_the_bounds_by_which_they_are_read", bounded).of(&ENGINES),
    Scenario::new("a_roll_that_nobody_can_read_says_so_and_goes_on_once_it_is_mended", unreadable)
        .of(&ENGINES)
        .newest(),
];

/// Numbers in braces stand for so many letters.
fn filled(text: &str) -> String {
    let lengths = [63, 64, 200, 201, 253, 254];
    lengths.iter().fold(text.to_owned(), |text, length| text.replace(&format!("{{{length}}}"), &"a".repeat(*length)))
}

/// The table by which the reader of Rolls is held to them as well, in crates/core/tests/rolls/bounds.rs.
fn bounded(scene: &Scene<'_>) {
    scene.install(&scene.printed_crd(&[]));
    scene.knows_rolls();
    let document: Value = serde_saphyr::from_str(&filled(include_str!("../data/roll_bounds.yaml"))).unwrap();
    let judged = |roll: &Value| {
        let path = "/apis/pointsman.dev/v1/rolls?dryRun=All";
        let answer = scene.call(Method::POST, path, Some(("application/json", roll.to_string())));
        (answer.code, answer.body["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(judged(&document["roll"]), (201, String::new()));
    for place in document["places"].as_array().unwrap() {
        let at = place["at"].as_str().unwrap();
        for (word, code) in [("takes", 201), ("refuses", 422)] {
            for value in place[word].as_array().unwrap() {
                let mut roll = document["roll"].clone();
                *roll.pointer_mut(at).unwrap() = value.clone();
                let (answered, message) = judged(&roll);
                assert_eq!(answered, code, "{at}: {value}: {message}");
            }
        }
    }
}

/// An order by a field that is nowhere: no schema of Rolls knows of that.
fn unreadable(scene: &Scene<'_>) {
    scene.install(&scene.printed_crd(&[]));
    scene.knows_rolls();
    scene.engines(&["e-0", "e-1", "e-2"].map(str::to_owned), Some(A));
    scene.starts_roll(&json!({"waves": [{"name": "all", "atOnce": 1}], "timeout": "10m"}));
    let mut running = scene.rolls_on("one");
    scene.roll_says("all 0/3, 1 under way");
    scene.eventually(|| (scene.versions().get(B) == Some(&1)).then_some(()));
    let path = format!("/apis/pointsman.dev/v1/rolls/{}", scene.ns);
    let orders = |order: Value| {
        let patch = json!({"spec": {"order": order}}).to_string();
        scene.call(Method::PATCH, &path, Some((MERGE, patch))).ok();
    };
    orders(json!({"by": "spec.nothing"}));
    let status = scene.roll_says("(\"Unreadable\")");
    assert_eq!((&status["phase"], status["reserved"].as_array().unwrap().len()), (&json!("Paused"), 1), "{status}");
    assert!(status["message"].as_str().unwrap().contains("has no field spec.nothing"), "{status}");
    scene.roll_tells(&scene.ns, "Unreadable", "has no field spec.nothing");
    assert!(scene.does(&["show"]).contains(&format!("next      kubectl edit roll {}", scene.ns)));
    // Others who look, once or for all rolls, say the same, and none of them moves anything.
    scene.eventually(|| {
        let (code, text, errors) = scene.runs_roll(&["--once"]);
        assert_eq!(code, 1, "{text} {errors}");
        // For a moment now and then the other one runs it.
        text.contains(" Paused: it says what nobody can read").then_some(())
    });
    let mut all = scene.rolls_all_on("all");
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!((running.obituary(), all.obituary()), (None, None), "each waits until it is mended");
    assert_eq!(scene.versions(), [(A.to_owned(), 2), (B.to_owned(), 1)].into());
    all.kill();
    orders(Value::Null);
    scene.roll_says("all 0/3, 1 under way");
    let _controllers = Controllers::start(scene, |_, _| Some(true));
    scene.roll_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    assert_eq!(scene.roll_writes().len(), 3);
    scene.forgets_roll();
}
