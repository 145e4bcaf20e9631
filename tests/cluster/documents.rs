//! Runs the commands of the documents, from install to uninstall.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::commands::rotate::names;
use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::pki::Authority;
use crate::support::pointsman::{Pointsman, write_pair};
use crate::typed_blocks::{page, typed_blocks};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("documents_lead_install_to_uninstall", workflow).materialize().newest().failing().alone()];

/// The controller version of the examples.
const CONTROLLER: &str = "2.17.0";

fn workflow(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    assert_eq!((old, new), ("v1alpha1", "v1alpha2"), "as in the documents");
    let mut before = ctx.enabled(old);
    drop(before["spec"].as_object_mut().unwrap().remove("conversion"));
    before["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    ctx.install(&before);
    ctx.create(old, &ctx.object(old, "production")).ok();
    ctx.stop_pointsman();
    let mut setup = ctx.setup.clone();
    setup.flags = [format!("--controller-version={CONTROLLER}"), format!("--served-versions={CONTROLLER}")].to_vec();
    setup.flags.push("--default-version".to_owned());
    *ctx.pointsman.borrow_mut() = Some(Pointsman::start(&setup));
    let typed = Typed::new(ctx);
    typed.run("install.md", "As a kubectl plugin", 0);
    is_a_plugin(ctx);
    // Prints, inspects and applies the registration.
    assert_eq!(typed.run("install.md", "Register", 0), 1);
    ctx.eventually(|| ctx.get(new, "production").is_ok().then_some(()));
    // `enable` finds the work already done.
    typed.run("running.md", "Putting it in place", 0);
    typed.run("running.md", "How it stands", 1);
    typed.run("migrate.md", "To the new version", 0);
    assert_eq!(ctx.stored_versions(), json!([new]));
    // Another authority, which no server uses at first.
    let next = Authority::new();
    fs::write(typed.dir.join("new-ca.crt"), &next.pem).unwrap();
    let given = thread::scope(|scope| {
        let dir = ctx.dir.clone();
        let pair = next.issue(&names(ctx));
        let gives = scope.spawn(move || {
            thread::sleep(Duration::from_secs(4));
            write_pair(&dir, &pair);
        });
        let ran = typed.run("rotate.md", "Another authority", 1);
        gives.join().unwrap();
        ran
    });
    assert_eq!(given, 2);
    fs::copy(typed.dir.join("new-ca.crt"), typed.dir.join("ca.crt")).unwrap();
    ctx.eventually(|| ctx.get(old, "production").is_ok().then_some(()));
    typed.run("roll-back.md", "The objects go back to the old version", 0);
    assert_eq!(ctx.stored_versions(), json!([old]));
    typed.run("migrate.md", "To the new version", 0);
    typed.run("upgrade.md", "A kind gets another version", 0);
    // Removes the conversion.
    let spec = ctx.get(new, "production").ok()["spec"].clone();
    assert!(typed.run("uninstall.md", "The objects stay", 0) >= 2);
    ctx.stop_pointsman();
    assert_eq!(ctx.crd_now()["spec"]["conversion"], json!({"strategy": "None"}));
    let object = ctx.get(new, "production").ok();
    assert_eq!(object["spec"], spec);
    let annotations = object["metadata"]["annotations"].to_string();
    assert!(!annotations.contains("pointsman.dev/kept-"), "{annotations}");
    ctx.patch(new, "production", &json!({"metadata": {"labels": {"still": "works"}}})).ok();
}

/// Checks that kubectl recognises the plugin names.
fn is_a_plugin(ctx: &TestContext<'_>) {
    let dir = ctx.dir.join("plugin");
    fs::create_dir_all(&dir).unwrap();
    for name in ["kubectl-pointsman", "kubectl_complete-pointsman"] {
        symlink(env!("CARGO_BIN_EXE_pointsman"), dir.join(name)).unwrap();
    }
    let kubectl = |args: &[&str]| {
        let output =
            Command::new(ctx.test_cluster.assets.path("kubectl")).args(args).env("PATH", &dir).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(kubectl(&["pointsman", "kinds", "--help"]).contains("\nUsage: kubectl pointsman kinds "));
    assert_eq!(kubectl(&["__complete", "pointsman", "kinds", "show", "mat"]), "materialize\n:4\n");
}

/// A shell in its own directory, as a reader of the documents has it.
struct Typed<'t> {
    ctx: &'t TestContext<'t>,
    dir: std::path::PathBuf,
}

impl<'t> Typed<'t> {
    fn new(ctx: &'t TestContext<'t>) -> Self {
        let dir = ctx.dir.join("typed");
        fs::create_dir_all(&dir).unwrap();
        fs::copy(ctx.authority(), dir.join("ca.crt")).unwrap();
        let kinds = ctx.setup.kinds.display();
        let pointsman = env!("CARGO_BIN_EXE_pointsman");
        let with_kinds = format!("[ \"$1\" = rotate-ca ] || set -- \"$@\" --kinds={kinds}\nexec {pointsman} \"$@\"");
        program(&dir.join("pointsman"), &with_kinds);
        let kubectl = ctx.test_cluster.assets.path("kubectl");
        program(&dir.join("kubectl"), &format!("exec {} \"$@\"", kubectl.display()));
        Self { ctx, dir }
    }

    /// Runs the blocks of a section, except for blocks that are marked as not run. Each block must end with at most
    /// this exit code. Returns the number of blocks.
    fn run(&self, document: &str, section: &str, most: i32) -> usize {
        let text = page(document);
        let (_, text) = text.split_once(&format!("\n## {section}\n")).expect("a section");
        let blocks = typed_blocks(text.split("\n## ").next().unwrap());
        let mut count = 0;
        for block in blocks.iter().filter(|block| !block.is_left_out()) {
            count += 1;
            let script = self.here(&block.script);
            let output = Command::new("bash")
                .args(["-c", &format!("set -eu -o pipefail\n{script}")])
                .current_dir(&self.dir)
                .env("PATH", format!("{}:{}", self.dir.display(), std::env::var("PATH").unwrap()))
                .env("KUBECONFIG", &self.ctx.test_cluster.api.kubeconfig)
                .env("HOME", &self.dir)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code().unwrap();
            assert!(code <= most, "{document}, {section}: {code}\n{script}\n{said}");
        }
        assert!(count > 0, "{document}, {section}: nothing was run");
        count
    }

    /// Replaces the example names by the names of this scenario, and shortens waits for other API servers.
    fn here(&self, block: &str) -> String {
        let (ctx, name) = (self.ctx, self.ctx.crd_name());
        let service = format!("{}/pointsman:{}", ctx.ns, ctx.setup.port);
        let mut script = block.replace("\\\n", " ");
        for (theirs, ours) in [
            ("--cert-manager pointsman-system/pointsman", "--ca-file ca.crt"),
            ("pointsman-system/pointsman:443", "pointsman-system/pointsman"),
            ("pointsman-system/pointsman", service.as_str()),
            ("materializes.materialize.cloud", &name),
            ("materializes.v1alpha2.materialize.cloud", &format!("materializes.v1alpha2.{}", ctx.group)),
            ("get materializes ", &format!("get {name} ")),
            ("--kind materialize ", &format!("--kind {name} ")),
        ] {
            script = script.replace(theirs, ours);
        }
        let lines = script.lines().map(|line| {
            let line = line.trim();
            let mut words: Vec<&str> = line.split(' ').collect();
            if let ["pointsman", _, kind, ..] = words.as_mut_slice()
                && *kind == "materialize"
            {
                *kind = &name;
            }
            let waits = ["pointsman migrate", "pointsman rotate-ca", "pointsman disable"];
            let settles = waits.iter().any(|start| line.starts_with(start)) && !line.contains("--forget");
            let more = if settles { " --settle=1s" } else { "" };
            // The diff is expected to find differences.
            let differs = if line.starts_with("kubectl diff") { " || true" } else { "" };
            let takes = if line.starts_with("pointsman enable") { " --force-conflicts" } else { "" };
            format!("{}{more}{takes}{differs}\n", words.join(" "))
        });
        lines.collect()
    }
}

pub(crate) fn program(file: &Path, script: &str) {
    fs::write(file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}
