//! An object moves from one controller version to another.

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B, C, SideBySide};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("objects_are_judged_by_their_version", judged).of(&ENGINES).newest(),
    Scenario::new("promoting_objects_cannot_flip", promoting).of(&ENGINES).newest(),
    Scenario::new("flips_follow_the_upgrade_path", path).of(&ENGINES).newest(),
    Scenario::new("command_line_agrees_with_servers", offline).of(&ENGINES).newest(),
];

fn judged(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    for version in [ctx.sample.old, new] {
        let with = |name: &str, label: Option<&str>, power: i64| {
            let mut object = ctx.labelled(version, &format!("{name}-{version}"), label);
            object["spec"]["power"] = json!(power);
            object
        };
        let patch = |name: &str, patch: &Value| ctx.patch(version, &format!("{name}-{version}"), patch);
        let flip = |label: &str| json!({"metadata": {"labels": {ctx.label_key(): label}}});
        // Too strong for A.
        for label in [None, Some(A)] {
            let message = ctx.create(version, &with("strong", label, 150)).fails(422);
            assert!(message.contains("spec.power: Invalid value: 150: must be less than or equal to 100"), "{message}");
        }
        ctx.create(version, &with("strong", Some(B), 150)).ok();
        let message = patch("strong", &flip(A)).fails(422);
        assert!(message.contains("less than or equal to 100"), "{message}");
        // Too weak for B.
        let message = ctx.create(version, &with("weak", Some(B), 20)).fails(422);
        assert!(message.contains("spec.power: Invalid value: 20: must be greater than or equal to 50"), "{message}");
        ctx.create(version, &with("weak", Some(A), 20)).ok();
        let answer = patch("weak", &flip(B));
        let message = answer.fails(422);
        assert!(message.contains("greater than or equal to 50"), "{message}");
        let causes = &answer.body["details"]["causes"];
        assert_eq!(causes[0]["field"], "spec.power", "{causes}");
        // Violations for the former version are ignored, also while the other version manages the object.
        let mut both = flip(B);
        both["spec"] = json!({"power": 180});
        patch("weak", &both).ok();
        patch("weak", &json!({"spec": {"power": 190}})).ok();
        let message = patch("weak", &json!({"spec": {"power": 210}})).fails(422);
        assert!(message.contains("less than or equal to 200"), "{message}");
        let mut back = flip(A);
        back["spec"] = json!({"power": 80});
        patch("weak", &back).ok();
    }
    let flips = |at: usize| {
        let page = servers.servers[at].metrics();
        let lines =
            page.lines().filter_map(|line| line.strip_prefix("pointsman_controller_version_flips_total{outcome="));
        lines.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(flips(0), "\"enter_refused\"} 2 \"entered\"} 2 \"let_go\"} 4");
    assert_eq!(flips(1), "\"enter_refused\"} 2 \"entered\"} 2 \"let_go\"} 4");
}

fn promoting(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    ctx.create(new, &ctx.labelled(new, "e", Some(A))).ok();
    let says = |reason: &str| {
        let conditions = json!([{"type": "UpToDate", "status": "Unknown", "reason": reason}]);
        ctx.patch(new, "e/status", &json!({"status": {"conditions": conditions}})).ok();
    };
    let flip = json!({"metadata": {"labels": {ctx.label_key(): B}}});
    says("Promoting");
    for version in [ctx.sample.old, new] {
        let (answer, said) = servers.answered(|| ctx.patch(version, "e", &flip));
        let message = answer.fails(422);
        assert!(message.contains("2.16.0 is promoting this object: wait until the rollout is completed"), "{message}");
        // The API server may start with a cached object that is not yet promoting, and retry after the conflict.
        let asked = said.contains("A: mutate allow") && said.contains("deny");
        assert!(asked && !said.contains("B: mutate allow, validate deny"), "{said}");
    }
    // All other writes continue.
    ctx.patch(new, "e", &json!({"spec": {"power": 80}})).ok();
    says("Applied");
    ctx.patch(new, "e", &flip).ok();
}

fn path(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A, B, C], &[]);
    servers.register("deny");
    ctx.create(new, &ctx.labelled(new, "e", Some(A))).ok();
    let flip = |to: &str| ctx.patch(new, "e", &json!({"metadata": {"labels": {ctx.label_key(): to}}}));
    let (answer, said) = servers.answered(|| flip(C));
    let message = answer.fails(422);
    assert!(message.contains("no upgrade from 2.16.0 to 2.18.0 is allowed; first move to 2.17.0"), "{message}");
    assert_eq!(said, "A: mutate allow, validate allow; C: mutate allow, validate deny");
    flip(B).ok();
    flip(C).ok();
    let message = flip(A).fails(422);
    assert!(message.contains("no downgrade from 2.18.0 to 2.16.0 is allowed"), "{message}");
}

fn offline(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let mut weak = ctx.labelled(new, "e", Some(A));
    weak["spec"]["power"] = json!(20);
    ctx.create(new, &weak).ok();
    let as_b = |more: &[&str]| {
        let version = format!("--controller-version={B}");
        ctx.told_of(&[&["validate", &version], more].concat(), &ctx.get(new, "e").ok())
    };
    let flip = || {
        let path = format!("{}?dryRun=All", ctx.one(new, "e"));
        let labels = json!({"metadata": {"labels": {ctx.label_key(): B}}});
        ctx.call(Method::PATCH, &path, Some((MERGE, labels.to_string())))
    };
    // An object of A: B reports no verdict for the unchanged object, and does not report success.
    let (code, said, _) = as_b(&[]);
    assert!(
        code == 3 && said.contains("not judged: the object belongs to another controller version"),
        "{code} {said}"
    );
    let wrong = "spec.power: Invalid value: 20: must be greater than or equal to 50";
    let (code, said, errors) = as_b(&["--as-flip"]);
    assert!(code == 1 && errors.contains(wrong), "{code} {said} {errors}");
    assert!(flip().fails(422).contains(wrong));
    ctx.patch(new, "e", &json!({"spec": {"power": 80}})).ok();
    let (code, said, errors) = as_b(&["--as-flip"]);
    assert!(code == 0 && said.contains("flip allowed"), "{code} {said} {errors}");
    flip().ok();
    // A write that bypassed the webhook has a stale hash.
    let stale = || ctx.told_of(&["hash", "--stale"], &ctx.list(new).ok());
    assert_eq!(stale().0, 0, "{}", stale().1);
    let mut stored = ctx.etcd("e");
    stored["spec"]["power"] = json!(81);
    ctx.test_cluster.etcd.write(&ctx.key("e"), &stored);
    ctx.eventually(|| {
        let (code, said, _) = stale();
        (code == 1 && said.contains("/e")).then_some(())
    });
}
