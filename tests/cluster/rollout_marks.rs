//! Objects that somebody replaces in the middle of a rollout, who knows nothing of what it has noted on them: on the
//! real API server, by the real kubectl.

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, Sample};
use crate::support::scene::Scene;
use crate::support::side_by_side::{A, B, SideBySide};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("replace_keeps_rollout_mark", replaced).of(&ENGINES).newest(),
    Scenario::new("foreign_annotation_is_kept", texts).of(&ENGINES).newest(),
    Scenario::new("deselected_object_is_undone_in_order", deselected).of(&ENGINES).newest(),
];

const MARK: &str = "pointsman.dev/rollout";
const COUNT: usize = 4;

fn one(scene: &Scene<'_>, name: &str) -> Value {
    scene.get(scene.sample.new, name).ok()
}

fn label(scene: &Scene<'_>, name: &str) -> Value {
    one(scene, name)["metadata"]["labels"][scene.label_key()].clone()
}

fn mark(scene: &Scene<'_>, name: &str) -> Value {
    one(scene, name)["metadata"]["annotations"][MARK].clone()
}

/// Marks of all objects that have one.
fn marks(scene: &Scene<'_>) -> usize {
    (0..COUNT).filter(|at| !mark(scene, &format!("e-{at}")).is_null()).count()
}

/// Replaces an object by what somebody has in a file: no annotation, and this label. Returns what kubectl says.
/// kubectl reads an object before it replaces it: its controller may have written a status meanwhile, and then whoever
/// replaces it is told to try again.
fn replace(scene: &Scene<'_>, name: &str, version: &str) -> String {
    let mut object = scene.labelled(scene.sample.new, name, Some(version));
    if name == "e-0" {
        object["metadata"]["labels"]["rollout"] = json!("canary");
    }
    for _ in 0..20 {
        match scene.try_kubectl(&["replace"], &object) {
            (true, text) => return text,
            (false, text) => assert!(text.contains("(Conflict)"), "{text}"),
        }
    }
    panic!("{name} was modified at each of 20 attempts");
}

fn starts(scene: &Scene<'_>) {
    let canary =
        json!({"name": "canary", "selector": {"labels": "rollout=canary"}, "maxInFlight": 1, "after": "approval"});
    scene.starts_rollout(&json!({"waves": [canary, {"name": "rest", "maxInFlight": 3}]}));
}

fn replaced(scene: &Scene<'_>) {
    scene.install(&scene.printed_crd(&[]));
    scene.knows_rollouts();
    let names: Vec<String> = (0..COUNT).map(|at| format!("e-{at}")).collect();
    scene.engines(&names, Some(A));
    scene.patch(scene.sample.new, "e-0", &json!({"metadata": {"labels": {"rollout": "canary"}}})).ok();
    let servers = SideBySide::start(scene, &[A, B], &[]);
    servers.register("deny");
    let _controllers = Controllers::start(scene, |_, _| Some(true));
    starts(scene);
    let mut running = scene.rollouts_on("one");
    scene.rollout_says("canary 1/1, waiting for approval");
    in_the_middle(scene);
    scene.does(&["approve", "canary"]);
    scene.rollout_says("Complete");
    running.end(std::time::Duration::from_secs(20));
    assert_eq!(scene.versions(), [(B.to_owned(), COUNT)].into());
    // After its end as well, and so it is taken back.
    let noted = mark(scene, "e-1");
    assert!(replace(scene, "e-1", B).contains("was put back"));
    assert_eq!(mark(scene, "e-1"), noted);
    scene.does(&["undo"]);
    let (code, text, errors) = scene.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(
        (scene.versions(), marks(scene)),
        ([(A.to_owned(), COUNT)].into(), 0),
        "nobody puts back what a rollout takes off"
    );
    scene.forgets_rollout();
    cleaned(scene);
}

/// Its canary is through, and the others wait.
fn in_the_middle(scene: &Scene<'_>) {
    let noted = mark(scene, "e-0");
    assert!(noted.as_str().is_some_and(|text| text.contains(A) && text.contains(B)), "{noted}");
    let said = replace(scene, "e-0", B);
    assert!(
        said.contains("Warning: annotation pointsman.dev/rollout was put back: a rollout has moved this object"),
        "{said}"
    );
    assert_eq!((mark(scene, "e-0"), label(scene, "e-0")), (noted.clone(), json!(B)));
    // A file of yesterday turns it back. It is not moved a second time, as it is known that it was moved once.
    replace(scene, "e-0", A);
    assert_eq!((mark(scene, "e-0"), label(scene, "e-0")), (noted, json!(A)));
    scene.rollout_says("(\"Held\")");
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(scene.versions(), [(A.to_owned(), COUNT)].into());
    assert_eq!(scene.rollout_writes().iter().filter(|name| *name == "e-0").count(), 1);
    replace(scene, "e-0", B);
    // What never had a mark gets none.
    assert!(!replace(scene, "e-2", A).contains(MARK));
    assert_eq!(marks(scene), 1);
    scene.does(&["resume"]);
    scene.rollout_says("waiting for approval");
}

/// Whoever is done with a rollout takes its marks off.
fn cleaned(scene: &Scene<'_>) {
    starts(scene);
    scene.does(&["approve", "canary"]);
    let (code, text, errors) = scene.runs_rollout(&[]);
    assert_eq!((code, marks(scene)), (0, COUNT), "{text}{errors}");
    scene.does(&["clean"]);
    assert_eq!((scene.versions(), marks(scene)), ([(B.to_owned(), COUNT)].into(), 0));
    scene.forgets_rollout();
}

/// Somebody's own text is told with what takes it off; without one character, and of a rollout before this one, it is
/// in nobody's way.
fn texts(scene: &Scene<'_>) {
    scene.install(&scene.printed_crd(&[]));
    scene.knows_rollouts();
    let names: Vec<String> = (0..COUNT).map(|at| format!("e-{at}")).collect();
    scene.engines(&names, Some(A));
    let servers = SideBySide::start(scene, &[A, B], &[]);
    servers.register("deny");
    let _controllers = Controllers::start(scene, |_, _| Some(true));
    let before = json!({"rollout": "gone", "was": null, "to": A, "at": "2026-01-01T00:00:00Z"}).to_string();
    let large = "x".repeat(200_000);
    for (name, text) in names.iter().zip(["", "[\"mine\"]", &before, &large]) {
        scene.patch(scene.sample.new, name, &json!({"metadata": {"annotations": {MARK: text}}})).ok();
    }
    let file = scene.rollout_file(&json!({})).display().to_string();
    let (code, text, errors) = scene.command(&["rollout", "plan", "-f", &file, "--server"]);
    assert!(code == 1 && text.contains("\nmove 2, refused 2"), "{text}{errors}");
    scene.commanded(&["rollout", "start", "-f", &file]);
    let mut running = scene.rollouts_on("one");
    scene.rollout_says("which no rollout has written");
    scene.eventually(|| {
        (scene.versions().get(B) == Some(&2) && scene.rollout_status()["phase"] == "Waiting").then_some(())
    });
    assert_eq!((mark(scene, "e-1"), mark(scene, "e-3")), (json!("[\"mine\"]"), json!(large)), "nobody's data is lost");
    // What it says to do is done.
    let shown = scene.does(&["objects"]);
    for name in ["e-1", "e-3"] {
        let said = shown.lines().find(|line| line.contains(&format!(" {name} "))).unwrap();
        let (_, does) = said.split_once("Where nobody needs it: kubectl ").unwrap();
        let kubectl = std::process::Command::new(scene.bed.assets.path("kubectl"))
            .arg(format!("--kubeconfig={}", scene.bed.api.kubeconfig.display()))
            .args(does.split_whitespace())
            .output()
            .unwrap();
        assert!(kubectl.status.success(), "{does}: {kubectl:?}");
    }
    scene.rollout_says("Complete");
    assert_eq!(running.end(std::time::Duration::from_secs(20)), Some(0));
    assert_eq!((scene.versions(), marks(scene)), ([(B.to_owned(), COUNT)].into(), COUNT));
    scene.does(&["undo"]);
    let (code, text, errors) = scene.runs_rollout(&[]);
    assert_eq!((code, scene.versions(), marks(scene)), (0, [(A.to_owned(), COUNT)].into(), 0), "{text}{errors}");
    scene.forgets_rollout();
    lost(scene);
}

/// What stands in the place of a mark is no way back. Such objects stay, and whoever takes the fleet back is told.
fn lost(scene: &Scene<'_>) {
    scene.starts_rollout(&json!({}));
    let (code, text, errors) = scene.runs_rollout(&[]);
    assert_eq!((code, marks(scene)), (0, COUNT), "{text}{errors}");
    for (name, text) in [("e-0", ""), ("e-1", "mine")] {
        scene.patch(scene.sample.new, name, &json!({"metadata": {"annotations": {MARK: text}}})).ok();
    }
    scene.does(&["undo"]);
    let (code, text, errors) = scene.runs_rollout(&[]);
    let said =
        format!("cannot tell whether 2 objects were moved, so they are left unchanged: {0}/e-0, {0}/e-1. ", scene.ns);
    assert!(code == 1 && text.contains(&said), "{code} {text}{errors}");
    assert_eq!(scene.versions(), [(A.to_owned(), 2), (B.to_owned(), 2)].into());
    scene.forgets_rollout();
}

/// What has gone back says nothing of its rollout any more: it counts until it is healthy all the same.
fn deselected(scene: &Scene<'_>) {
    scene.install(&scene.printed_crd(&[]));
    scene.knows_rollouts();
    let names: Vec<String> = (0..COUNT).map(|at| format!("e-{at}")).collect();
    scene.engines(&names, Some(A));
    let controllers = Controllers::start(scene, |_, version| (version == B).then_some(true));
    let waves = json!([{"name": "all", "maxInFlight": 2}]);
    let select = json!({"labels": "frozen notin (true)"});
    scene.starts_rollout(&json!({"selector": select, "waves": waves, "timeout": "10s", "maxUnhealthy": 0}));
    let (code, text, errors) = scene.runs_rollout(&[]);
    assert_eq!((code, scene.versions()), (0, [(B.to_owned(), COUNT)].into()), "{text}{errors}");
    for name in &names {
        scene.patch(scene.sample.new, name, &json!({"metadata": {"labels": {"frozen": "true"}}})).ok();
    }
    // Nobody is there who would look at them.
    scene.does(&["undo"]);
    let mut running = scene.rollouts_on("one");
    scene.rollout_says("TimedOut");
    assert_eq!((scene.versions(), marks(scene)), ([(A.to_owned(), 2), (B.to_owned(), 2)].into(), 2));
    drop(controllers);
    let _controllers = Controllers::start(scene, |_, _| Some(true));
    scene.does(&["resume"]);
    scene.rollout_says("RolledBack");
    assert_eq!(running.end(std::time::Duration::from_secs(20)), Some(0));
    assert_eq!((scene.versions(), marks(scene)), ([(A.to_owned(), COUNT)].into(), 0));
    scene.forgets_rollout();
}
