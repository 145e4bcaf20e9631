//! `pointsman disable`: removes the conversion, by a process that may be killed at any time.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::commands::rotate::thorough;
use crate::scenario::Scenario;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::process::Process;
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("disable_loses_nothing_and_calls_end", left).failing(),
    Scenario::new("killed_disable_resumes", killed).of(&WIDGETS).newest().failing(),
    Scenario::new("disable_survives_kill_at_any_call", each_call).of(&WIDGETS).newest().failing(),
    Scenario::new("wrong_stored_versions_lose_nothing", lying).of(&WIDGETS).failing(),
    Scenario::new("objects_change_during_disable", busy).of(&WIDGETS).newest().failing(),
    Scenario::new("large_metadata_needs_little_memory", large).of(&WIDGETS).newest().thorough(),
    Scenario::new("disable_blockers_are_reported", in_the_way).of(&WIDGETS).newest().failing(),
    Scenario::new("missing_server_lists_options", emergency).of(&WIDGETS).newest().failing(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

fn left(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let spec = |name: &str| ctx.get(new, name).ok()["spec"].clone();
    let before: Vec<Value> = ["a", "b"]
        .map(|name| {
            ctx.create(old, &ctx.object(old, name)).ok();
            spec(name)
        })
        .into();
    ctx.commanded(&["migrate", &ctx.crd_name(), "--to", new, "--settle=2s"]);
    // The command refuses to guess, and a dry run writes nothing.
    let enabled = crd(ctx);
    assert!(refused(ctx, &[]).contains(&format!("--served {new}")));
    assert!(refused(ctx, &["--served", old]).contains(&format!("stores {new}, not {old}")));
    for mode in ["--dry-run", "--dry-run=server"] {
        let (code, text, errors) = disable(ctx, &["--served", new, mode]);
        assert_eq!(code, 0, "{errors}");
        assert!(text.contains("can be disabled"), "{text}");
        assert!(errors.contains(&format!("1. serve {new} alone")) && errors.contains("strategy None"), "{errors}");
        let is_tried = errors.contains(&format!("would serve {new} alone"));
        assert!(!errors.contains("done: ") && is_tried == (mode == "--dry-run=server"), "{errors}");
    }
    assert_eq!(crd(ctx)["spec"], enabled["spec"]);
    let (code, text, errors) = disable(ctx, &["--served", new, "--settle=2s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.contains(&format!("is disabled: 2 objects listed at {new}")), "{text}");
    ctx.stop_pointsman();
    gone(ctx, new);
    assert_eq!(ctx.list(old).code, 404);
    assert_eq!(["a", "b"].map(spec).to_vec(), before);
    ctx.create(new, &ctx.object(new, "c")).ok();
    assert_eq!(ctx.names(new), ["a", "b", "c"]);
    // Again, with output for programs.
    let generation = crd(ctx)["metadata"]["generation"].clone();
    let (code, text, errors) = disable(ctx, &["-o", "json"]);
    assert_eq!(code, 0, "{errors}");
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&result["steps"], &result["objects"], &result["version"]), (&json!([]), &json!(3), &json!(new)));
    assert_eq!(crd(ctx)["metadata"]["generation"], generation);
}

/// Kills the command while the conversion has no reachable webhook, and just before.
fn killed(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.create(new, &ctx.object(new, "a")).ok();
    let args = ["disable", &ctx.crd_name(), &ctx.server(), "--served", new, "--settle=30s"];
    let log = ctx.dir.join("disable.log");
    for seen in ["1. serve", "done: serve", "waiting 30 s", "waiting 30 s"] {
        let program = env!("CARGO_BIN_EXE_pointsman").as_ref();
        let _ = std::fs::remove_file(&log);
        let mut process = Process::start("disable", program, &ctx.on_the_cluster(&args), &log);
        // The earlier process may have made more progress than it printed.
        let is_seen = |log: String| log.contains(seen) || log.contains("waiting 30 s");
        ctx.eventually(|| std::fs::read_to_string(&log).is_ok_and(is_seen).then_some(()));
        process.kill();
        ctx.eventually(|| ctx.get(new, "a").is_ok().then_some(()));
    }
    assert_eq!(client(&crd(ctx))["url"], "https://127.0.0.1:1/disabling");
    let (code, text, _) = ctx.command(&["status", &ctx.crd_name()]);
    assert!(code == 1 && text.contains("pointsman disable was interrupted"), "{text}");
    let (code, text, errors) = disable(ctx, &["--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    gone(ctx, new);
    assert_eq!(ctx.list(old).code, 404);
    assert_eq!(crd(ctx)["metadata"]["annotations"]["pointsman.dev/disabling"], Value::Null);
}

/// Sends SIGKILL after the first call, after the second, and so on.
fn each_call(ctx: &TestContext<'_>) {
    let (old, new, name) = (ctx.sample.old, ctx.sample.new, ctx.crd_name());
    ctx.enable(new);
    ctx.create(new, &ctx.object(new, "a")).ok();
    let enabled = crd(ctx)["spec"].clone();
    for last in (0..).step_by(if thorough() { 1 } else { 2 }) {
        let (ended, calls) = ctx.killed_after(last, |kubeconfig| {
            let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
            let flags = ["--served", new, "--settle=0s", &kubeconfig];
            ctx.on_the_cluster(&[&["disable", &name, &ctx.server()], &flags[..]].concat())
        });
        let (code, text, errors) = disable(ctx, &["--served", new, "--settle=0s"]);
        assert_eq!(code, 0, "after call {last}, {:?}: {text}{errors}", calls.last());
        gone(ctx, new);
        assert_eq!(crd(ctx)["metadata"]["annotations"]["pointsman.dev/disabling"], Value::Null);
        assert_eq!(ctx.get(new, "a").ok()["spec"], ctx.sample.new_spec());
        if ended.is_some() {
            println!("     killed up to call {last}");
            assert!(last > 12, "{calls:?}");
            return;
        }
        ctx.change_crd(|crd| crd["spec"] = enabled.clone());
        ctx.eventually(|| ctx.get(old, "a").is_ok().then_some(()));
    }
}

/// A client has edited `status.storedVersions`, as pages on the web recommend.
fn lying(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    // At the newer version, so that no field owner needs a translation, which would store the object again.
    ctx.create(new, &ctx.object(new, "a")).ok();
    ctx.store(new);
    stored(ctx, &[new]);
    let before = crd(ctx)["spec"]["conversion"].clone();
    let (code, _, errors) = disable(ctx, &["--served", new, "--settle=2s"]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("an object is stored in another version than storedVersions lists"), "{errors}");
    assert!(errors.contains("the original conversion is restored"), "{errors}");
    assert_eq!(crd(ctx)["spec"]["conversion"], before);
    assert_eq!(crd(ctx)["metadata"]["annotations"]["pointsman.dev/disabling"], Value::Null);
    ctx.eventually(|| ctx.get(new, "a").is_ok().then_some(()));
    // The recommended command resolves the problem.
    stored(ctx, &[old, new]);
    assert!(refused(ctx, &[]).contains(&format!("migrate {} --to {new}", ctx.crd_name())));
    ctx.commanded(&["migrate", &ctx.crd_name(), "--to", new, "--settle=1s"]);
    let (code, text, errors) = disable(ctx, &["--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.get(new, "a").ok()["spec"], ctx.sample.new_spec());
}

/// Clients create objects at any time, at the remaining version and at the removed version; one object waits for a
/// finalizer.
fn busy(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.create(new, &ctx.object(new, "held")).ok();
    ctx.patch(new, "held", &json!({"metadata": {"finalizers": ["example.com/hold"]}})).ok();
    ctx.delete(new, "held").ok();
    let path = format!("/{}?", ctx.crd_name());
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, asked| {
        let writes = method == Method::PATCH && asked.contains(&path) && !asked.contains("dryRun");
        if writes { Fate::Late(Duration::from_millis(500)) } else { Fate::Pass }
    });
    let kubeconfig = format!("--kubeconfig={}", ctx.through(proxy.port).display());
    let name = ctx.crd_name();
    let args = ctx.on_the_cluster(&["disable", &name, &ctx.server(), "--served", new, "--settle=1s", &kubeconfig]);
    let mut process = ctx.started("disable", &args);
    let (mut turn, mut made) = (0, vec!["held".to_owned()]);
    let code = loop {
        if let Some(code) = process.end(Duration::from_millis(20)) {
            break code;
        }
        let version = if turn % 2 == 0 { new } else { old };
        let name = format!("w-{turn}");
        if ctx.create(version, &ctx.object(version, &name)).is_ok() {
            made.push(name);
        }
        turn += 1;
    };
    assert_eq!(code, 0, "{}", std::fs::read_to_string(ctx.log_of("disable")).unwrap());
    ctx.stop_pointsman();
    gone(ctx, new);
    println!("     {} of {turn} objects were made meanwhile", made.len() - 1);
    assert!(made.len() > 10, "{made:?}");
    for name in &made {
        assert_eq!(ctx.get(new, name).ok()["spec"], ctx.sample.new_spec(), "{name}");
    }
    ctx.patch(new, "held", &json!({"metadata": {"finalizers": null}})).ok();
}

/// Objects with the maximum size of annotations. A Job has 256 MiB.
fn large(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let text = "x".repeat(200_000);
    for at in 0..OBJECTS {
        let mut object = ctx.object(old, &format!("w-{at}"));
        object["metadata"]["annotations"] = json!({"example.com/notes": text});
        ctx.create(old, &object).ok();
    }
    let name = ctx.crd_name();
    for args in [
        ctx.migrate_args(&ctx.test_cluster.api.kubeconfig, &["--to", new, "--settle=1s"]),
        ctx.on_the_cluster(&["status", &name]),
        ctx.on_the_cluster(&["disable", &name, &ctx.server(), "--served", new, "--settle=1s"]),
    ] {
        let child = Command::new(env!("CARGO_BIN_EXE_pointsman")).args(&args).stdin(Stdio::null()).spawn();
        let (mut child, mut most) = (child.unwrap(), 0);
        let status = loop {
            most = most.max(resident(child.id()));
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        println!("     {}: {most} KiB", args[0]);
        assert!(status.success() && (1..MOST).contains(&most), "{}: {status}, {most} KiB", args[0]);
    }
}

/// The peak memory of a running process in KiB.
fn resident(process: u32) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Objects of 200 kB each: as one page, 60 MB on the wire, and three times as much in memory.
const OBJECTS: usize = 300;

/// KiB.
const MOST: usize = 100_000;

fn in_the_way(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    assert!(refused(ctx, &[]).contains(&format!("CRD {} does not exist", ctx.crd_name())));
    ctx.enable(old);
    let before = crd(ctx)["spec"].clone();
    let name = ctx.crd_name();
    let theirs = ctx.refused(&["disable", &name, "--service=other/server:1", "--served", old]);
    assert!(theirs.contains("is converted by") && theirs.contains("the cluster is unchanged"), "{theirs}");
    let unread = refused(ctx, &["--served", old, &ctx.as_nobody()]);
    assert!(unread.contains("cannot get resource") && unread.contains("docs/rights.md"), "{unread}");
    ctx.create(old, &ctx.object(old, "a")).ok();
    stored(ctx, &[old, new]);
    let mixed = refused(ctx, &["--served", old]);
    assert!(mixed.contains(&format!("may have objects stored as {new}")), "{mixed}");
    assert!(mixed.trim_end().ends_with(&format!("pointsman migrate {name} --to {old}")), "{mixed}");
    assert_eq!(crd(ctx)["spec"], before);
    let (code, _, errors) = ctx.command(&["disable", &name]);
    assert_eq!(code, 2, "{errors}");
}

/// The server is already down, and objects are stored in two versions.
fn emergency(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    ctx.store(new);
    ctx.create(new, &ctx.object(new, "b")).ok();
    ctx.stop_pointsman();
    let before = crd(ctx)["spec"].clone();
    let said = refused(ctx, &["--served", new]);
    for words in
        ["The conversion webhook is unreachable now", "install pointsman again", "Do not remove the conversion by hand"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(crd(ctx)["spec"], before);
    assert!(ctx.get(new, "b").is_ok(), "as it says");
    let pointsman = crate::support::pointsman::Pointsman::start(&ctx.setup);
    *ctx.pointsman.borrow_mut() = Some(pointsman);
    ctx.eventually(|| ctx.get(new, "a").is_ok().then_some(()));
}

fn gone(ctx: &TestContext<'_>, version: &str) {
    let crd = crd(ctx);
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(crd["status"]["storedVersions"], json!([version]));
}

fn crd(ctx: &TestContext<'_>) -> Value {
    ctx.call_get(&format!("{CRDS}/{}", ctx.crd_name()))
}

fn client(crd: &Value) -> &Value {
    &crd["spec"]["conversion"]["webhook"]["clientConfig"]
}

/// Writes the stored versions into the status of the CRD.
fn stored(ctx: &TestContext<'_>, versions: &[&str]) {
    let path = format!("{CRDS}/{}/status", ctx.crd_name());
    let status = json!({"status": {"storedVersions": versions}});
    ctx.call(Method::PATCH, &path, Some((MERGE, status.to_string()))).ok();
}

fn disable(ctx: &TestContext<'_>, more: &[&str]) -> (i32, String, String) {
    ctx.command(&[&["disable", &ctx.crd_name(), &ctx.server()], more].concat())
}

#[track_caller]
fn refused(ctx: &TestContext<'_>, more: &[&str]) -> String {
    ctx.refused(&[&["disable", &ctx.crd_name(), &ctx.server()], more].concat())
}
