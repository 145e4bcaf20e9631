//! Runs the tutorial from its first line to its last.
//!
//! Blocks run unchanged, except for the names of the scenario. The output shown below a block must be part of its
//! actual output.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::documents::program;
use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::pointsman::{Pointsman, Setup};
use crate::support::sample::{Sample, WIDGET};
use crate::typed_blocks::{TypedBlock, page, typed_blocks};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("tutorial_leads_from_install_to_removal", typed).of(&WIDGETS).needs("helm").failing().alone()];

static WIDGETS: [&Sample; 1] = [&WIDGET];

fn typed(ctx: &TestContext<'_>) {
    ctx.stop_pointsman();
    // The Service, which the chart would create.
    drop(ctx.conversion());
    let dir = desk(ctx);
    let mut run = 0;
    for block in typed_blocks(&page("tutorial.md")).iter().filter(|block| !block.is_left_out()) {
        run += 1;
        if block.script.contains("helm uninstall") {
            ctx.stop_pointsman();
        }
        types(ctx, &dir, block);
        if block.script.contains("helm install") {
            *ctx.pointsman.borrow_mut() = Some(Pointsman::start(&as_the_chart_does(ctx, &dir)));
        }
    }
    assert!(run > 12, "only {run} blocks are run");
}

/// A directory with the necessary part of the repository, and with programs that use the cluster.
fn desk(ctx: &TestContext<'_>) -> PathBuf {
    let dir = ctx.dir.join("tutorial");
    fs::create_dir_all(&dir).unwrap();
    for folder in ["manifests", "tests"] {
        symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), dir.join(folder)).unwrap();
    }
    let asset = |name: &str| ctx.test_cluster.assets.path(name).display().to_string();
    program(&dir.join("pointsman"), &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_pointsman")));
    program(&dir.join("kubectl"), &format!("exec {} --namespace={} \"$@\"", asset("kubectl"), ctx.ns));
    // No kubelet would run the installed Pods.
    let template = "[ \"$1\" != install ] || { shift; exec \"$HELM\" template \"$@\"; }";
    program(&dir.join("helm"), &format!("HELM={}\n{template}", asset("helm")));
    dir
}

fn as_the_chart_does(ctx: &TestContext<'_>, dir: &Path) -> Setup {
    let here = dir.join("tutorial");
    let mut setup = ctx.setup.clone();
    (setup.cert, setup.key, setup.kinds) = (here.join("tls.crt"), here.join("tls.key"), here.join("kinds"));
    setup.flags =
        ["--controller-version=1.0.0", "--default-version", "--served-versions=1.0.0"].map(str::to_owned).to_vec();
    setup
}

fn types(ctx: &TestContext<'_>, dir: &Path, block: &TypedBlock) {
    let script = here(ctx, &block.script);
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\nset -eu -o pipefail\n{script}")])
        .current_dir(dir)
        .env("PATH", format!("{}:{}", dir.display(), std::env::var("PATH").unwrap()))
        .env("KUBECONFIG", &ctx.test_cluster.api.kubeconfig)
        .env("HOME", dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let fits = match block.comment.split(':').next().unwrap() {
        "" => output.status.success(),
        "refused" => !output.status.success(),
        "looked at" => output.status.code().is_some_and(|code| code <= 1),
        other => panic!("docs/tutorial.md: what is {other:?}?"),
    };
    assert!(fits, "{}\n{script}\n{said}", output.status);
    for line in here(ctx, &block.shown).lines() {
        assert!(said.contains(line.trim()), "{line:?} is not in what this says:\n{script}\n{said}");
    }
}

/// Replaces the names of the tutorial by the names of this scenario, and shortens waits for other API servers.
fn here(ctx: &TestContext<'_>, text: &str) -> String {
    let (ns, port) = (&ctx.ns, ctx.setup.port);
    let mut text = text.replace("\\\n", " ");
    let group = format!("sed -i s/example.com/{}/ tutorial/kinds/*", ctx.group);
    for (theirs, ours) in [
        ("example.com", ctx.group.as_str()),
        ("tutorial/kinds\npointsman crd", &format!("tutorial/kinds\n{group}\npointsman crd")),
        ("create namespace pointsman-system", "get namespace pointsman-system"),
        ("pointsman-system/pointsman:443", &format!("pointsman-system/pointsman:{port}")),
        ("localhost:8443", &format!("127.0.0.1:{port}")),
        ("pointsman-system", ns),
        ("pointsman migrate ", "pointsman migrate --settle=1s "),
        ("pointsman disable ", "pointsman disable --settle=1s "),
    ] {
        text = text.replace(theirs, ours);
    }
    text
}
