//! `pointsman disable`: the way out, by a process that may be killed at any time.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::rotate::thorough;
use crate::scenario::Scenario;
use crate::support::process::Process;
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{Sample, WIDGET};
use crate::support::scene::{CRDS, MERGE, Scene};

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

fn left(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    let spec = |name: &str| scene.get(new, name).ok()["spec"].clone();
    let before: Vec<Value> = ["a", "b"]
        .map(|name| {
            scene.create(old, &scene.object(old, name)).ok();
            spec(name)
        })
        .into();
    scene.commanded(&["migrate", &scene.crd_name(), "--to", new, "--settle=2s"]);
    // Nothing is guessed, and nothing is done in a dry run.
    let enabled = crd(scene);
    assert!(refused(scene, &[]).contains(&format!("--served {new}")));
    assert!(refused(scene, &["--served", old]).contains(&format!("stores {new}, not {old}")));
    for mode in ["--dry-run", "--dry-run=server"] {
        let (code, text, errors) = disable(scene, &["--served", new, mode]);
        assert_eq!(code, 0, "{errors}");
        assert!(text.contains("can be disabled"), "{text}");
        assert!(errors.contains(&format!("1. serve {new} alone")) && errors.contains("strategy None"), "{errors}");
        let is_tried = errors.contains(&format!("would serve {new} alone"));
        assert!(!errors.contains("done: ") && is_tried == (mode == "--dry-run=server"), "{errors}");
    }
    assert_eq!(crd(scene)["spec"], enabled["spec"]);
    let (code, text, errors) = disable(scene, &["--served", new, "--settle=2s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.contains(&format!("is disabled: 2 objects listed at {new}")), "{text}");
    scene.stop_pointsman();
    gone(scene, new);
    assert_eq!(scene.list(old).code, 404);
    assert_eq!(["a", "b"].map(spec).to_vec(), before);
    scene.create(new, &scene.object(new, "c")).ok();
    assert_eq!(scene.names(new), ["a", "b", "c"]);
    // Again, as a program reads it.
    let generation = crd(scene)["metadata"]["generation"].clone();
    let (code, text, errors) = disable(scene, &["-o", "json"]);
    assert_eq!(code, 0, "{errors}");
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&result["steps"], &result["objects"], &result["version"]), (&json!([]), &json!(3), &json!(new)));
    assert_eq!(crd(scene)["metadata"]["generation"], generation);
}

/// In the moment in which the conversion leads to nobody, and a moment before.
fn killed(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    scene.create(new, &scene.object(new, "a")).ok();
    let args = ["disable", &scene.crd_name(), &scene.server(), "--served", new, "--settle=30s"];
    let log = scene.dir.join("disable.log");
    for seen in ["1. serve", "done: serve", "waiting 30 s", "waiting 30 s"] {
        let program = env!("CARGO_BIN_EXE_pointsman").as_ref();
        let _ = std::fs::remove_file(&log);
        let mut process = Process::start("disable", program, &scene.on_the_cluster(&args), &log);
        // The one before may have come further than it was seen.
        let is_seen = |log: String| log.contains(seen) || log.contains("waiting 30 s");
        scene.eventually(|| std::fs::read_to_string(&log).is_ok_and(is_seen).then_some(()));
        process.kill();
        scene.eventually(|| scene.get(new, "a").is_ok().then_some(()));
    }
    assert_eq!(client(&crd(scene))["url"], "https://127.0.0.1:1/disabling");
    let (code, text, _) = scene.command(&["status", &scene.crd_name()]);
    assert!(code == 1 && text.contains("its conversion is being taken away, and that was not ended"), "{text}");
    let (code, text, errors) = disable(scene, &["--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    gone(scene, new);
    assert_eq!(scene.list(old).code, 404);
    assert_eq!(crd(scene)["metadata"]["annotations"]["pointsman.dev/disabling"], Value::Null);
}

/// SIGKILL after the first call, after the second, and so on.
fn each_call(scene: &Scene<'_>) {
    let (old, new, name) = (scene.sample.old, scene.sample.new, scene.crd_name());
    scene.enable(new);
    scene.create(new, &scene.object(new, "a")).ok();
    let enabled = crd(scene)["spec"].clone();
    for last in (0..).step_by(if thorough() { 1 } else { 2 }) {
        let (ended, calls) = scene.killed_after(last, |kubeconfig| {
            let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
            let flags = ["--served", new, "--settle=0s", &kubeconfig];
            scene.on_the_cluster(&[&["disable", &name, &scene.server()], &flags[..]].concat())
        });
        let (code, text, errors) = disable(scene, &["--served", new, "--settle=0s"]);
        assert_eq!(code, 0, "after call {last}, {:?}: {text}{errors}", calls.last());
        gone(scene, new);
        assert_eq!(crd(scene)["metadata"]["annotations"]["pointsman.dev/disabling"], Value::Null);
        assert_eq!(scene.get(new, "a").ok()["spec"], scene.sample.new_spec());
        if ended.is_some() {
            println!("     killed up to call {last}");
            assert!(last > 12, "{calls:?}");
            return;
        }
        scene.change_crd(|crd| crd["spec"] = enabled.clone());
        scene.eventually(|| scene.get(old, "a").is_ok().then_some(()));
    }
}

/// Somebody has edited `status.storedVersions`, as pages on the web tell people to.
fn lying(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    // At the newer version, so that no field owner has to be translated: that would store it anew.
    scene.create(new, &scene.object(new, "a")).ok();
    scene.store(new);
    stored(scene, &[new]);
    let before = crd(scene)["spec"]["conversion"].clone();
    let (code, _, errors) = disable(scene, &["--served", new, "--settle=2s"]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("an object is stored in another version, whatever storedVersions says"), "{errors}");
    assert!(errors.contains("the conversion is again what it was"), "{errors}");
    assert_eq!(crd(scene)["spec"]["conversion"], before);
    assert_eq!(crd(scene)["metadata"]["annotations"]["pointsman.dev/disabling"], Value::Null);
    scene.eventually(|| scene.get(new, "a").is_ok().then_some(()));
    // What it says to do helps.
    stored(scene, &[old, new]);
    assert!(refused(scene, &[]).contains(&format!("migrate {} --to {new}", scene.crd_name())));
    scene.commanded(&["migrate", &scene.crd_name(), "--to", new, "--settle=1s"]);
    let (code, text, errors) = disable(scene, &["--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(scene.get(new, "a").ok()["spec"], scene.sample.new_spec());
}

/// Objects appear at whatever moment, at the version that stays and at the one that goes; one waits for a finalizer.
fn busy(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    scene.create(new, &scene.object(new, "held")).ok();
    scene.patch(new, "held", &json!({"metadata": {"finalizers": ["example.com/hold"]}})).ok();
    scene.delete(new, "held").ok();
    let path = format!("/{}?", scene.crd_name());
    let proxy = Proxy::start(&scene.bed.api.client, move |_, method, asked| {
        let writes = method == Method::PATCH && asked.contains(&path) && !asked.contains("dryRun");
        if writes { Fate::Late(Duration::from_millis(500)) } else { Fate::Pass }
    });
    let kubeconfig = format!("--kubeconfig={}", scene.through(proxy.port).display());
    let name = scene.crd_name();
    let args = scene.on_the_cluster(&["disable", &name, &scene.server(), "--served", new, "--settle=1s", &kubeconfig]);
    let mut process = scene.started("disable", &args);
    let (mut turn, mut made) = (0, vec!["held".to_owned()]);
    let code = loop {
        if let Some(code) = process.end(Duration::from_millis(20)) {
            break code;
        }
        let version = if turn % 2 == 0 { new } else { old };
        let name = format!("w-{turn}");
        if scene.create(version, &scene.object(version, &name)).is_ok() {
            made.push(name);
        }
        turn += 1;
    };
    assert_eq!(code, 0, "{}", std::fs::read_to_string(scene.log_of("disable")).unwrap());
    scene.stop_pointsman();
    gone(scene, new);
    println!("     {} of {turn} objects were made meanwhile", made.len() - 1);
    assert!(made.len() > 10, "{made:?}");
    for name in &made {
        assert_eq!(scene.get(new, name).ok()["spec"], scene.sample.new_spec(), "{name}");
    }
    scene.patch(new, "held", &json!({"metadata": {"finalizers": null}})).ok();
}

/// As many bytes of annotations as an object may have. A Job has 256 MiB.
fn large(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    let text = "x".repeat(200_000);
    for at in 0..OBJECTS {
        let mut object = scene.object(old, &format!("w-{at}"));
        object["metadata"]["annotations"] = json!({"example.com/notes": text});
        scene.create(old, &object).ok();
    }
    let name = scene.crd_name();
    for args in [
        scene.migrate_args(&scene.bed.api.kubeconfig, &["--to", new, "--settle=1s"]),
        scene.on_the_cluster(&["status", &name]),
        scene.on_the_cluster(&["disable", &name, &scene.server(), "--served", new, "--settle=1s"]),
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

/// What a process had in memory at most, in KiB, while it is there.
fn resident(process: u32) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Of 200 kB each: as one page, 60 MB on the wire, and three times as much in memory.
const OBJECTS: usize = 300;

/// KiB.
const MOST: usize = 100_000;

fn in_the_way(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    assert!(refused(scene, &[]).contains(&format!("there is no CRD {}", scene.crd_name())));
    scene.enable(old);
    let before = crd(scene)["spec"].clone();
    let name = scene.crd_name();
    let theirs = scene.refused(&["disable", &name, "--service=other/server:1", "--served", old]);
    assert!(theirs.contains("is converted by") && theirs.contains("nothing was changed"), "{theirs}");
    let unread = refused(scene, &["--served", old, &scene.as_nobody()]);
    assert!(unread.contains("cannot get resource") && unread.contains("docs/rights.md"), "{unread}");
    scene.create(old, &scene.object(old, "a")).ok();
    stored(scene, &[old, new]);
    let mixed = refused(scene, &["--served", old]);
    assert!(mixed.contains(&format!("may have objects stored as {new}")), "{mixed}");
    assert!(mixed.trim_end().ends_with(&format!("pointsman migrate {name} --to {old}")), "{mixed}");
    assert_eq!(crd(scene)["spec"], before);
    let (code, _, errors) = scene.command(&["disable", &name]);
    assert_eq!(code, 2, "{errors}");
}

/// The server went first, and objects are stored in two versions.
fn emergency(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    scene.create(old, &scene.object(old, "a")).ok();
    scene.store(new);
    scene.create(new, &scene.object(new, "b")).ok();
    scene.stop_pointsman();
    let before = crd(scene)["spec"].clone();
    let said = refused(scene, &["--served", new]);
    for words in ["nobody converts", "install pointsman again", "Do not take the conversion away by hand"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(crd(scene)["spec"], before);
    assert!(scene.get(new, "b").is_ok(), "as it says");
    let pointsman = crate::support::pointsman::Pointsman::start(&scene.setup);
    *scene.pointsman.borrow_mut() = Some(pointsman);
    scene.eventually(|| scene.get(new, "a").is_ok().then_some(()));
}

fn gone(scene: &Scene<'_>, version: &str) {
    let crd = crd(scene);
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(crd["status"]["storedVersions"], json!([version]));
}

fn crd(scene: &Scene<'_>) -> Value {
    scene.call_get(&format!("{CRDS}/{}", scene.crd_name()))
}

fn client(crd: &Value) -> &Value {
    &crd["spec"]["conversion"]["webhook"]["clientConfig"]
}

/// Says in the CRD's status what is stored.
fn stored(scene: &Scene<'_>, versions: &[&str]) {
    let path = format!("{CRDS}/{}/status", scene.crd_name());
    let status = json!({"status": {"storedVersions": versions}});
    scene.call(Method::PATCH, &path, Some((MERGE, status.to_string()))).ok();
}

fn disable(scene: &Scene<'_>, more: &[&str]) -> (i32, String, String) {
    scene.command(&[&["disable", &scene.crd_name(), &scene.server()], more].concat())
}

#[track_caller]
fn refused(scene: &Scene<'_>, more: &[&str]) -> String {
    scene.refused(&[&["disable", &scene.crd_name(), &scene.server()], more].concat())
}
