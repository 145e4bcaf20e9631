//! A rollout that rewrites every stored object.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::controllers::{Phase, new_controller, rollouts};
use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::sample::{ENGINE, Sample};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("killed_rewrite_writes_objects_once", stored).of(&ENGINES).newest(),
    Scenario::new("rewrite_triggers_no_rollout", settled).materialize().newest(),
];

fn stored(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.old);
    stores_anew(ctx, |name| {
        ctx.create(ctx.sample.old, &ctx.object(ctx.sample.old, name)).ok();
        ctx.report(name, true);
    });
}

/// The health rules that the definition of Materialize lacks.
const HEALTHY: &str = "
health:
  all: [{condition: UpToDate}]
  settle: 0s
  seen: {manager: environmentd}
";

/// Objects that have completed their rollouts and are settled.
fn settled(ctx: &TestContext<'_>) {
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = fs::read_to_string(&file).unwrap();
    fs::write(&file, definition + HEALTHY).unwrap();
    ctx.enable(ctx.sample.old);
    let names = stores_anew(ctx, |name| {
        ctx.create(ctx.sample.old, &ctx.object(ctx.sample.old, name)).ok();
        new_controller(ctx, name, Phase::Settled);
        assert!(!rollouts(ctx, name), "{name}");
    });
    names.iter().for_each(|name| assert!(!rollouts(ctx, name), "{name} is rolled out"));
}

/// Stores a fleet in the new version, with a rollout that is killed five times, and runs the rollout once more. Returns
/// the names.
fn stores_anew(ctx: &TestContext<'_>, make: impl Fn(&str)) -> Vec<String> {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.knows_rollouts();
    let count = std::env::var("POINTSMAN_OBJECTS").map_or(60, |count| count.parse().unwrap());
    let names: Vec<String> = (0..count).map(|at| format!("e-{at:04}")).collect();
    names.iter().for_each(|name| make(name));
    let waves = json!([{"name": "all", "maxInFlight": 20.max(count / 16).min(256)}]);
    let file = ctx.rollout_file(&json!({"workflow": "rewrite", "from": null, "to": new, "waves": waves}));
    let file = file.display().to_string();
    let errors = ctx.refused(&["rollout", "start", "-f", &file]);
    assert!(errors.contains(&format!("stores {old}: change its storage version to {new} first")), "{errors}");
    ctx.store(new);
    let plan = ctx.commanded(&["rollout", "plan", "-f", &file]);
    assert!(plan.contains(&format!("only writes its progress, so that the object is stored as {new}\n")), "{plan}");
    ctx.commanded(&["rollout", "start", "-f", &file]);
    let writes = || names.iter().map(|name| ctx.test_cluster.etcd.writes(&ctx.key(name))).collect::<Vec<_>>();
    let before = writes();
    for round in 0_u64..5 {
        let mut running = ctx.rollouts_on("test");
        // Some of these kills happen before API servers have observed the change.
        std::thread::sleep(Duration::from_millis(2_000 + round * 713));
        running.kill();
    }
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    for name in &names {
        assert_eq!(ctx.etcd(name)["apiVersion"], format!("{}/{new}", ctx.group), "{name}");
        assert_eq!(ctx.get(new, name).ok()["metadata"]["generation"], 1, "{name}: nothing else of it has changed");
    }
    let after = writes();
    assert!(before.iter().zip(&after).all(|(before, after)| before + 1 == *after), "each was written once: {after:?}");
    assert_eq!(ctx.stored_versions(), json!([old, new]), "that is asked for by itself");
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!((code, writes()), (0, after.clone()), "nothing is written again: {text}{errors}");
    let (code, text, errors) = ctx.migrate(&["--settle=1s"]);
    assert_eq!((code, writes()), (0, after), "what is stored so is not written: {text}{errors}");
    assert_eq!(ctx.stored_versions(), json!([new]));
    ctx.forgets_rollout();
    names
}
