//! A client replaces objects in the middle of a rollout, without the rollout's annotations: on the real API server,
//! with the real kubectl.

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B, SideBySide};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("replace_keeps_rollout_mark", replaced).of(&ENGINES).newest(),
    Scenario::new("foreign_annotation_is_kept", texts).of(&ENGINES).newest(),
    Scenario::new("deselected_object_is_undone_in_order", deselected).of(&ENGINES).newest(),
];

const MARK: &str = "pointsman.dev/rollout";
const COUNT: usize = 4;

fn one(ctx: &TestContext<'_>, name: &str) -> Value {
    ctx.get(ctx.sample.new, name).ok()
}

fn label(ctx: &TestContext<'_>, name: &str) -> Value {
    one(ctx, name)["metadata"]["labels"][ctx.label_key()].clone()
}

fn mark(ctx: &TestContext<'_>, name: &str) -> Value {
    one(ctx, name)["metadata"]["annotations"][MARK].clone()
}

/// The number of objects with a rollout annotation.
fn marks(ctx: &TestContext<'_>) -> usize {
    (0..COUNT).filter(|at| !mark(ctx, &format!("e-{at}")).is_null()).count()
}

/// Replaces an object by a user's file: no annotation, and this label. Returns the output of kubectl. kubectl reads an
/// object before the replace. A controller may have written the status meanwhile, and then the client must retry.
fn replace(ctx: &TestContext<'_>, name: &str, version: &str) -> String {
    let mut object = ctx.labelled(ctx.sample.new, name, Some(version));
    if name == "e-0" {
        object["metadata"]["labels"]["rollout"] = json!("canary");
    }
    for _ in 0..20 {
        match ctx.try_kubectl(&["replace"], &object) {
            (true, text) => return text,
            (false, text) => assert!(text.contains("(Conflict)"), "{text}"),
        }
    }
    panic!("{name} was modified at each of 20 attempts");
}

fn starts(ctx: &TestContext<'_>) {
    let canary =
        json!({"name": "canary", "selector": {"labels": "rollout=canary"}, "maxInFlight": 1, "after": "approval"});
    ctx.starts_rollout(&json!({"waves": [canary, {"name": "rest", "maxInFlight": 3}]}));
}

fn replaced(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let names: Vec<String> = (0..COUNT).map(|at| format!("e-{at}")).collect();
    ctx.engines(&names, Some(A));
    ctx.patch(ctx.sample.new, "e-0", &json!({"metadata": {"labels": {"rollout": "canary"}}})).ok();
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    starts(ctx);
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("canary 1/1, waiting for approval");
    in_the_middle(ctx);
    ctx.does(&["approve", "canary"]);
    ctx.rollout_says("Complete");
    running.end(std::time::Duration::from_secs(20));
    assert_eq!(ctx.versions(), [(B.to_owned(), COUNT)].into());
    // After the end as well, so that an undo works.
    let noted = mark(ctx, "e-1");
    assert!(replace(ctx, "e-1", B).contains("was restored"));
    assert_eq!(mark(ctx, "e-1"), noted);
    ctx.does(&["undo"]);
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(
        (ctx.versions(), marks(ctx)),
        ([(A.to_owned(), COUNT)].into(), 0),
        "no client restores a removed annotation"
    );
    ctx.forgets_rollout();
    cleaned(ctx);
}

/// The canary is complete, and the other objects wait.
fn in_the_middle(ctx: &TestContext<'_>) {
    let noted = mark(ctx, "e-0");
    assert!(noted.as_str().is_some_and(|text| text.contains(A) && text.contains(B)), "{noted}");
    let said = replace(ctx, "e-0", B);
    assert!(
        said.contains("Warning: annotation pointsman.dev/rollout was restored: a rollout has moved this object"),
        "{said}"
    );
    assert_eq!((mark(ctx, "e-0"), label(ctx, "e-0")), (noted.clone(), json!(B)));
    // An outdated file reverts the object. The rollout moves it once only, as the annotation records the first move.
    replace(ctx, "e-0", A);
    assert_eq!((mark(ctx, "e-0"), label(ctx, "e-0")), (noted, json!(A)));
    ctx.rollout_says("(\"Held\")");
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(ctx.versions(), [(A.to_owned(), COUNT)].into());
    assert_eq!(ctx.rollout_writes().iter().filter(|name| *name == "e-0").count(), 1);
    replace(ctx, "e-0", B);
    // Objects without an annotation get none.
    assert!(!replace(ctx, "e-2", A).contains(MARK));
    assert_eq!(marks(ctx), 1);
    ctx.does(&["resume"]);
    ctx.rollout_says("waiting for approval");
}

/// Removes the annotations after the end of a rollout.
fn cleaned(ctx: &TestContext<'_>) {
    starts(ctx);
    ctx.does(&["approve", "canary"]);
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!((code, marks(ctx)), (0, COUNT), "{text}{errors}");
    ctx.does(&["clean"]);
    assert_eq!((ctx.versions(), marks(ctx)), ([(B.to_owned(), COUNT)].into(), 0));
    ctx.forgets_rollout();
}

/// A foreign text in the annotation is reported with the command that removes it. An empty text, or a text of an
/// earlier rollout, blocks nothing.
fn texts(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let names: Vec<String> = (0..COUNT).map(|at| format!("e-{at}")).collect();
    ctx.engines(&names, Some(A));
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let before = json!({"rollout": "gone", "was": null, "to": A, "at": "2026-01-01T00:00:00Z"}).to_string();
    let large = "x".repeat(200_000);
    for (name, text) in names.iter().zip(["", "[\"mine\"]", &before, &large]) {
        ctx.patch(ctx.sample.new, name, &json!({"metadata": {"annotations": {MARK: text}}})).ok();
    }
    let file = ctx.rollout_file(&json!({})).display().to_string();
    let (code, text, errors) = ctx.command(&["rollout", "plan", "-f", &file, "--server"]);
    assert!(code == 1 && text.contains("\nmove 2, refused 2"), "{text}{errors}");
    ctx.commanded(&["rollout", "start", "-f", &file]);
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("which is not written by a rollout");
    ctx.eventually(|| (ctx.versions().get(B) == Some(&2) && ctx.rollout_status()["phase"] == "Waiting").then_some(()));
    assert_eq!(
        (mark(ctx, "e-1"), mark(ctx, "e-3")),
        (json!("[\"mine\"]"), json!(large)),
        "no data of other clients is lost"
    );
    // Runs the printed command.
    let shown = ctx.does(&["objects"]);
    for name in ["e-1", "e-3"] {
        let said = shown.lines().find(|line| line.contains(&format!(" {name} "))).unwrap();
        let (_, does) = said.split_once("To remove the annotation: kubectl ").unwrap();
        let kubectl = std::process::Command::new(ctx.test_cluster.assets.path("kubectl"))
            .arg(format!("--kubeconfig={}", ctx.test_cluster.api.kubeconfig.display()))
            .args(does.split_whitespace())
            .output()
            .unwrap();
        assert!(kubectl.status.success(), "{does}: {kubectl:?}");
    }
    ctx.rollout_says("Complete");
    assert_eq!(running.end(std::time::Duration::from_secs(20)), Some(0));
    assert_eq!((ctx.versions(), marks(ctx)), ([(B.to_owned(), COUNT)].into(), COUNT));
    ctx.does(&["undo"]);
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!((code, ctx.versions(), marks(ctx)), (0, [(A.to_owned(), COUNT)].into(), 0), "{text}{errors}");
    ctx.forgets_rollout();
    lost(ctx);
}

/// With a foreign text instead of the annotation an undo is impossible. Such objects stay, and the undo reports them.
fn lost(ctx: &TestContext<'_>) {
    ctx.starts_rollout(&json!({}));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!((code, marks(ctx)), (0, COUNT), "{text}{errors}");
    for (name, text) in [("e-0", ""), ("e-1", "mine")] {
        ctx.patch(ctx.sample.new, name, &json!({"metadata": {"annotations": {MARK: text}}})).ok();
    }
    ctx.does(&["undo"]);
    let (code, text, errors) = ctx.runs_rollout(&[]);
    let said = format!(
        "cannot tell whether 2 objects were moved, so these objects are left unchanged: {0}/e-0, {0}/e-1. ",
        ctx.ns
    );
    assert!(code == 1 && text.contains(&said), "{code} {text}{errors}");
    assert_eq!(ctx.versions(), [(A.to_owned(), 2), (B.to_owned(), 2)].into());
    ctx.forgets_rollout();
}

/// An undone object has no annotation of its rollout, but counts until it is healthy.
fn deselected(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let names: Vec<String> = (0..COUNT).map(|at| format!("e-{at}")).collect();
    ctx.engines(&names, Some(A));
    let controllers = Controllers::start(ctx, |_, version| (version == B).then_some(true));
    let waves = json!([{"name": "all", "maxInFlight": 2}]);
    let select = json!({"labels": "frozen notin (true)"});
    ctx.starts_rollout(&json!({"selector": select, "waves": waves, "timeout": "10s", "maxUnhealthy": 0}));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!((code, ctx.versions()), (0, [(B.to_owned(), COUNT)].into()), "{text}{errors}");
    for name in &names {
        ctx.patch(ctx.sample.new, name, &json!({"metadata": {"labels": {"frozen": "true"}}})).ok();
    }
    // No controller reports on the objects.
    ctx.does(&["undo"]);
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("TimedOut");
    assert_eq!((ctx.versions(), marks(ctx)), ([(A.to_owned(), 2), (B.to_owned(), 2)].into(), 2));
    drop(controllers);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.does(&["resume"]);
    ctx.rollout_says("RolledBack");
    assert_eq!(running.end(std::time::Duration::from_secs(20)), Some(0));
    assert_eq!((ctx.versions(), marks(ctx)), ([(A.to_owned(), COUNT)].into(), 0));
    ctx.forgets_rollout();
}
