//! `pointsman migrate` during faults of every type.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::acting::run;
use crate::support::apiserver::ApiServer;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::process::{Process, SOON};
use crate::support::proxy::{Fate, Proxy, status};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("migration_survives_kill_at_any_call", killed).of(&WIDGETS).newest(),
    Scenario::new("ctrl_c_ends_migration_anywhere", interrupted).of(&WIDGETS).newest(),
    Scenario::new("trouble_that_passes_is_waited_for", passing).of(&WIDGETS).newest(),
    Scenario::new("concurrent_migrations_write_once", several).of(&WIDGETS).newest(),
    Scenario::new("replaced_crd_stops_migration", another_crd).of(&WIDGETS).newest().failing(),
    Scenario::new("foreign_mark_is_ignored", another_mark).of(&WIDGETS).newest(),
    Scenario::new("objects_change_during_migration", busy).of(&WIDGETS).newest(),
    Scenario::new("migration_survives_api_restart", restarted).of(&WIDGETS).newest().failing().alone().thorough(),
    Scenario::new("migration_waits_for_webhook", webhook_away).of(&WIDGETS).newest().failing().alone().thorough(),
    Scenario::new("objects_without_a_namespace_are_migrated", cluster_scoped).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

fn create(ctx: &TestContext<'_>, count: usize) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|at| format!("w-{at}")).collect();
    for name in &names {
        ctx.create(ctx.sample.old, &ctx.object(ctx.sample.old, name)).ok();
    }
    names
}

fn writes(ctx: &TestContext<'_>, names: &[String]) -> Vec<u64> {
    names.iter().map(|name| ctx.test_cluster.etcd.writes(&ctx.key(name))).collect()
}

fn start(ctx: &TestContext<'_>, kubeconfig: &Path, more: &[&str]) -> Process {
    let args = ctx.migrate_args(kubeconfig, more);
    Process::start("migrate", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &ctx.dir.join("migrate.log"))
}

/// Checks that all objects are stored in this version, each with one more write than before, and that no other trace
/// remains.
#[track_caller]
fn assert_migrated(ctx: &TestContext<'_>, to: &str, names: &[String], before: &[u64]) {
    for (name, before) in names.iter().zip(before) {
        assert_eq!(ctx.etcd(name)["apiVersion"], format!("{}/{to}", ctx.group), "{name}");
        assert_eq!(ctx.test_cluster.etcd.writes(&ctx.key(name)), before + 1, "{name}: written once");
    }
    let crd = ctx.crd_now();
    assert_eq!(crd["status"]["storedVersions"], json!([to]));
    assert_eq!(crd["metadata"]["annotations"]["pointsman.dev/rewriting"], Value::Null, "nothing is left on the CRD");
}

/// Sends SIGKILL after the first call, after the second, and so on, until the command completes.
fn killed(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let names = create(ctx, 3);
    for last in 0.. {
        let (to, from) = if last % 2 == 0 { (new, old) } else { (old, new) };
        let before = writes(ctx, &names);
        let (ended, calls) = ctx.killed_after(last, |kubeconfig| {
            ctx.migrate_args(kubeconfig, &["--to", to, "--settle=0s", "--max-in-flight=1"])
        });
        let (code, text, errors) = ctx.migrate(&["--to", to, "--settle=0s"]);
        assert_eq!(code, 0, "after call {last}, {:?}: {text}{errors}", calls.last());
        assert_migrated(ctx, to, &names, &before);
        if ended.is_some() {
            assert_eq!(ended, Some(0), "it was not killed");
            println!("     killed after each of {last} calls, {from} to {to} at last");
            assert!(last > 10, "{calls:?}");
            return;
        }
    }
}

/// SIGINT during any call: exit code 130, soon, with a message about the remaining work.
fn interrupted(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let names = create(ctx, 3);
    let mut log = String::new();
    for last in 0..40 {
        let before = writes(ctx, &names);
        let (to, _) = if last % 2 == 0 { (new, old) } else { (old, new) };
        let proxy = Proxy::start(&ctx.test_cluster.api.client, move |at, _, _| match at {
            at if at >= last => Fate::HeldBefore,
            _ => Fate::Pass,
        });
        let mut process = start(ctx, &ctx.through(proxy.port), &["--to", to, "--settle=0s", "-o", "json"]);
        let mut ended = None;
        ctx.eventually(|| {
            ended = process.end(Duration::from_millis(20));
            (ended.is_some() || proxy.calls().len() > last).then_some(())
        });
        if ended.is_none() {
            let began = Instant::now();
            process.interrupt();
            ended = process.end(SOON);
            let took = began.elapsed();
            assert!(took < Duration::from_secs(3) + 10 * a_start(), "call {last}: {took:?}");
            assert_eq!(ended, Some(130), "call {last}, {:?}", proxy.calls().last());
            let text = std::fs::read_to_string(ctx.dir.join("migrate.log")).unwrap();
            let said = text.strip_prefix(log.as_str()).unwrap();
            assert!(said.contains("Run the same command again to continue"), "{said}");
            let result = said.lines().find(|line| line.contains("\"event\":\"result\"")).expect("a result");
            let result: Value = serde_json::from_str(result).unwrap();
            assert_eq!((&result["interrupted"], &result["complete"]), (&json!(true), &json!(false)), "{result}");
            log = text;
        }
        proxy.release();
        let (code, text, errors) = ctx.migrate(&["--to", to, "--settle=0s"]);
        assert_eq!(code, 0, "{text}{errors}");
        ctx.eventually(|| (ctx.stored_versions() == json!([to])).then_some(()));
        let after = writes(ctx, &names);
        assert!(after.iter().zip(&before).all(|(after, before)| after <= &(before + 1)), "{before:?} {after:?}");
        if ended == Some(0) {
            assert!(last > 10);
            break;
        }
    }
    // During a pause as well.
    let to = if ctx.stored_versions() == json!([old]) { new } else { old };
    let mut process = start(ctx, &ctx.test_cluster.api.kubeconfig, &["--to", to, "--settle=1h"]);
    ctx.eventually(|| {
        let text = std::fs::read_to_string(ctx.dir.join("migrate.log")).unwrap();
        text.strip_prefix(log.as_str()).unwrap().contains("waiting 3600 s").then_some(())
    });
    let began = Instant::now();
    process.interrupt();
    assert_eq!(process.end(SOON), Some(130));
    assert!(began.elapsed() < Duration::from_secs(3) + 10 * a_start(), "{:?}", began.elapsed());
}

/// The start time of the program under the current load of the machine.
fn a_start() -> Duration {
    let began = Instant::now();
    run(&["--version".to_owned()]);
    began.elapsed()
}

/// Every fifth call fails temporarily, each time in another way.
fn passing(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let names = create(ctx, 24);
    let before = writes(ctx, &names);
    let collection = format!("/{}?limit", ctx.sample.plural);
    let continued = Arc::new(AtomicUsize::new(0));
    let seen = continued.clone();
    let (object, asked) = (format!("/{}/w-", ctx.sample.plural), AtomicUsize::new(0));
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, path| {
        let is_object = method == Method::PATCH && path.contains(&object);
        let is_page = method == Method::GET && path.contains(&collection) && path.contains("limit=10");
        if path.contains("continue=") && seen.fetch_add(1, Ordering::Relaxed) == 0 {
            return Fate::Answer(410, None, status(410, "the continue token is too old"));
        }
        if !is_object && !is_page {
            return Fate::Late(Duration::from_millis(10));
        }
        // The number of reads of the CRD depends on the machine.
        let at = asked.fetch_add(1, Ordering::Relaxed);
        if at % 5 != 0 {
            return Fate::Late(Duration::from_millis(10));
        }
        match at / 5 % 5 {
            0 => Fate::Answer(429, Some(1), status(429, "too many requests")),
            1 => Fate::Answer(503, None, status(503, "apiserver is shutting down")),
            2 => Fate::CutBefore,
            3 => Fate::CutAfter,
            _ => Fate::Answer(502, None, "<html>bad gateway".to_owned()),
        }
    });
    let (code, text, errors) = ctx.migrate_at(&ctx.through(proxy.port), &["--to", new, "--settle=0s", "--page=10"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(errors.contains("too many requests") && errors.contains("retrying in 1 s"), "{errors}");
    assert!(continued.load(Ordering::Relaxed) > 1);
    assert_migrated(ctx, new, &names, &before);
}

/// Three migrations at once, from the start, with parallel runs of `enable`.
fn several(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    let names = create(ctx, 120);
    for to in [new, old] {
        let before = writes(ctx, &names);
        let run = |_| {
            start(ctx, &ctx.test_cluster.api.kubeconfig, &["--to", to, "--settle=1s", "--page=20", "--max-in-flight=2"])
        };
        let mut processes: Vec<Process> = (0..3).map(run).collect();
        for _ in 0..3 {
            let (code, _, errors) = ctx.enables(&[]);
            assert_eq!(code, 0, "{errors}");
        }
        for process in &mut processes {
            let code = process.end(SOON);
            assert_eq!(code, Some(0), "{}", std::fs::read_to_string(ctx.dir.join("migrate.log")).unwrap());
        }
        assert_migrated(ctx, to, &names, &before);
    }
}

type Change<'c> = Box<dyn Fn(&mut Value) + 'c>;

/// Possible changes of a CRD by another client during a migration from a version.
fn changes_of_crd(old: &str) -> [(&'static str, Change<'_>); 3] {
    let add_version = |crd: &mut Value| {
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        let mut more = versions[0].clone();
        (more["name"], more["storage"], more["served"]) = (json!("v3"), json!(false), json!(false));
        versions.push(more);
    };
    let flip_back = move |crd: &mut Value| {
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["storage"] = json!(version["name"] == old);
        }
    };
    let drop_stanza = |crd: &mut Value| drop(crd["spec"].as_object_mut().unwrap().remove("conversion"));
    [
        ("a version is added", Box::new(add_version)),
        ("storage is flipped back", Box::new(flip_back)),
        ("the stanza is dropped", Box::new(drop_stanza)),
    ]
}

/// Another client changes the CRD during the migration. The migration stops, storedVersions stays complete, and only a
/// few more writes follow.
fn another_crd(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let names = create(ctx, 150);
    for (what, change) in changes_of_crd(old) {
        // Restores the initial state.
        let (code, _, errors) = ctx.migrate(&["--to", old, "--settle=0s"]);
        assert_eq!(code, 0, "{what}: {errors}");
        let one = format!("/{}/w-", ctx.sample.plural);
        let writes = Arc::new(AtomicUsize::new(0));
        let seen = writes.clone();
        let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, path| {
            if method == Method::PATCH && path.contains(&one) && seen.fetch_add(1, Ordering::Relaxed) == 30 {
                return Fate::HeldBefore;
            }
            Fate::Pass
        });
        let through = ctx.through(proxy.port);
        let mut process = start(ctx, &through, &["--to", new, "--settle=0s", "--page=40", "--max-in-flight=1"]);
        ctx.eventually(|| {
            assert_eq!(process.obituary(), None, "{what}");
            (writes.load(Ordering::Relaxed) > 30).then_some(())
        });
        ctx.change_crd(change);
        proxy.release();
        let code = process.end(SOON);
        let log = std::fs::read_to_string(ctx.dir.join("migrate.log")).unwrap();
        assert_eq!(code, Some(1), "{what}: {log}");
        assert!(log.lines().last().unwrap().contains("was changed or recreated by another client"), "{what}: {log}");
        let after = writes.load(Ordering::Relaxed) - 31;
        println!("     {what}: {after} writes after that");
        assert!(after <= 30, "{what}: {after} of 120 were written after that");
        let mut stored = vec![old, new];
        stored.sort_unstable();
        assert_eq!(ctx.stored_versions(), json!(stored), "{what}");
        if what == "the stanza is dropped" {
            let (code, _, errors) = ctx.migrate(&["--to", new, "--settle=0s"]);
            assert!(code == 1 && errors.contains("no conversion webhook"), "{errors}");
        }
    }
    // `enable` repairs the CRD: only objects written meanwhile lost data.
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert!(code == 1 && errors.contains("serves") || code == 0 || errors.contains("v3"), "{errors}");
    ctx.change_crd(|crd| crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] != "v3"));
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    let (code, text, errors) = ctx.migrate(&["--to", new, "--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.get(old, &names[149]).ok()["spec"], ctx.sample.old_spec());
}

/// A CRD that was deleted and restored from a backup has the annotation of the deleted CRD, and an equal generation.
fn another_mark(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    create(ctx, 3);
    let proxy = Proxy::start(&ctx.test_cluster.api.client, |_, method, path| match path.contains("/widgets/w-1") {
        true if method == Method::PATCH => Fate::HeldBefore,
        _ => Fate::Pass,
    });
    let mut process = start(ctx, &ctx.through(proxy.port), &["--to", new, "--settle=0s", "--max-in-flight=1"]);
    ctx.eventually(|| proxy.calls().iter().any(|call| call.contains("/w-1")).then_some(()));
    process.kill();
    let marked = ctx.crd_now();
    let mark = marked["metadata"]["annotations"]["pointsman.dev/rewriting"].clone();
    assert!(mark.is_string());
    ctx.clean();
    let mut again = ctx.enabled(old);
    again["metadata"]["annotations"] = json!({"pointsman.dev/rewriting": mark});
    ctx.install(&again);
    let names = create(ctx, 3);
    // By hand, to the same progress as the deleted CRD.
    ctx.store(new);
    assert_eq!(ctx.crd_now()["metadata"]["generation"], marked["metadata"]["generation"]);
    let before = writes(ctx, &names);
    let (code, text, errors) = ctx.migrate(&["--settle=0s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_migrated(ctx, new, &names, &before);
}

/// Other clients create, change and delete objects continuously, at both versions.
fn busy(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    create(ctx, 100);
    let mut turn = 0;
    for to in [new, old, new] {
        let more = ["--to", to, "--settle=2s", "--page=30"];
        let mut process = start(ctx, &ctx.test_cluster.api.kubeconfig, &more);
        let code = loop {
            if let Some(code) = process.end(Duration::from_millis(1)) {
                break code;
            }
            let version = if turn % 2 == 0 { old } else { new };
            let name = format!("w-{}", turn * 7 % 100);
            ctx.patch(version, &name, &json!({"metadata": {"labels": {"turn": turn.to_string()}}}));
            if turn % 5 == 0 {
                ctx.delete(version, &name);
                ctx.create(version, &ctx.object(version, &name));
            }
            ctx.create(version, &ctx.object(version, &format!("n-{turn}")));
            ctx.delete(version, &format!("n-{}", turn - 3));
            turn += 1;
        };
        assert_eq!(code, 0, "{}", std::fs::read_to_string(ctx.dir.join("migrate.log")).unwrap());
        assert_eq!(ctx.stored_versions(), json!([to]));
        let stored = ctx.test_cluster.etcd.below(&format!("/registry/{}/", ctx.group));
        let other = stored.iter().find(|(_, text)| !text.contains(&format!("{}/{to}\"", ctx.group)));
        assert_eq!(other, None);
    }
    println!("     {turn} rounds of writes by others");
}

/// A second API server on the same etcd stops during the migration, and another one starts.
fn restarted(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let names = create(ctx, 60);
    let before = writes(ctx, &names);
    let start_one = |name: &str| {
        let dir = ctx.dir.join(name);
        std::fs::create_dir_all(&dir).unwrap();
        ApiServer::start(&ctx.test_cluster.assets, &ctx.test_cluster.etcd, &dir, &dir, &[])
    };
    let mut first = start_one("first");
    let proxy = Proxy::start(&first.client, |_, _, _| Fate::Late(Duration::from_millis(20)));
    let through = ctx.through(proxy.port);
    let mut process = start(ctx, &through, &["--to", new, "--settle=1s", "--page=10", "--max-in-flight=2"]);
    ctx.eventually(|| (proxy.calls().iter().filter(|call| call.contains("/w-")).count() > 10).then_some(()));
    first.stop();
    let second = start_one("second");
    proxy.lead_to(&second.client);
    let code = process.end(SOON);
    let log = std::fs::read_to_string(ctx.dir.join("migrate.log")).unwrap();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("trying again in"), "{log}");
    assert_migrated(ctx, new, &names, &before);
}

/// The Pods of the webhook are being replaced.
fn webhook_away(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let names = create(ctx, 20);
    let before = writes(ctx, &names);
    ctx.stop_pointsman();
    let mut process = start(ctx, &ctx.test_cluster.api.kubeconfig, &["--to", new, "--settle=0s"]);
    let log = || std::fs::read_to_string(ctx.dir.join("migrate.log")).unwrap();
    // Long enough for a list and a write to fail without retries.
    thread::sleep(Duration::from_secs(5));
    *ctx.pointsman.borrow_mut() = Some(crate::support::pointsman::Pointsman::start(&ctx.setup));
    assert_eq!(process.end(SOON), Some(0), "{}", log());
    assert_migrated(ctx, new, &names, &before);
    for name in names {
        assert!(ctx.etcd(&name)["metadata"]["managedFields"].is_array(), "{name}");
    }
}

fn cluster_scoped(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let mut crd = ctx.enabled(old);
    crd["spec"]["scope"] = json!("Cluster");
    ctx.post(CRDS, &crd).ok();
    let all = |version: &str| format!("/apis/{}/{version}/{}", ctx.group, ctx.sample.plural);
    ctx.eventually(|| ctx.call(Method::GET, &all(old), None).is_ok().then_some(()));
    // No objects exist yet.
    let (code, text, errors) = ctx.migrate(&["--to", new, "--settle=0s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.contains("0 objects written") && text.contains("storedVersions was"), "{text}");
    let mut object = ctx.object(old, "a");
    drop(object["metadata"].as_object_mut().unwrap().remove("namespace"));
    ctx.eventually(|| ctx.post(&all(old), &object).is_ok().then_some(()));
    let (code, text, errors) = ctx.migrate(&["--to", old, "--settle=2s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.contains("1 object written"), "{text}");
    let key = format!("/registry/{}/{}/a", ctx.group, ctx.sample.plural);
    let stored = ctx.test_cluster.etcd.read(&key).expect("stored");
    assert_eq!(stored["apiVersion"], format!("{}/{old}", ctx.group));
    let path = format!("{}/a", all(old));
    ctx.call(Method::PATCH, &path, Some((MERGE, "{}".to_owned()))).ok();
}
