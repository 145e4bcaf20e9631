//! Every command that contacts a cluster, with each obstacle: no server, another server, an outdated cluster, a missing
//! CRD, or a CRD that another webhook converts. Missing rights are in `access.rs`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::commands::access::web_server;
use crate::scenario::Scenario;
use crate::support::acting::{Told, run};
use crate::support::ctx::{CRDS, TestContext};
use crate::support::pki::Authority;
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("unreachable_cluster_explains_itself", unreached).of(&WIDGETS).newest(),
    Scenario::new("old_cluster_names_missing_feature", old_cluster).of(&WIDGETS).newest(),
    Scenario::new("missing_crd_is_reported_everywhere", not_ours).of(&WIDGETS).newest().failing().alone(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// Each command in a read-only form, or in a form that fails before its writes.
fn commands(ctx: &TestContext<'_>) -> Vec<Vec<String>> {
    let (name, server, new) = (ctx.crd_name(), ctx.server(), ctx.sample.new);
    let file = format!("--ca-file={}", ctx.authority().display());
    let all: [&[&str]; 10] = [
        &["enable", &name, &server, &file, "--force-conflicts", "--dry-run=server"],
        &["disable", &name, &server, "--served", new, "--admission", "--dry-run=server"],
        &["migrate", &name, "--dry-run"],
        &["migrate", &name, "--forget", "v0", "--dry-run"],
        &["rotate-ca", &server, &file, "--dry-run=server"],
        &["status", &name],
        &["doctor", &name],
        &["plan", &name],
        &["rollout", "list"],
        &["rollout", "run", "one"],
    ];
    all.map(|one| one.iter().map(|arg| (*arg).to_owned()).collect()).to_vec()
}

/// The result of a command on a cluster: exit code, stdout, stderr.
fn said(ctx: &TestContext<'_>, command: &[String], kubeconfig: &Path) -> Told {
    let mut args = command.to_vec();
    args.push(format!("--kubeconfig={}", kubeconfig.display()));
    // These commands need no definition.
    if !["rotate-ca", "list"].iter().any(|one| command[..2].iter().any(|word| word == one)) {
        args.push(format!("--kinds={}", ctx.setup.kinds.display()));
    }
    run(&args)
}

fn unreached(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.old);
    let config = fs::read_to_string(&ctx.test_cluster.api.kubeconfig).unwrap();
    let config: Value = serde_saphyr::from_str(&config).unwrap();
    let real = &config["clusters"][0]["cluster"];
    let stranger = ctx.dir.join("stranger.crt");
    fs::write(&stranger, Authority::new().pem).unwrap();
    let token = json!({"token": "secret-token"});
    let nobody = json!({"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": true});
    let web = json!({"server": format!("http://127.0.0.1:{}", web_server())});
    let other = json!({"server": real["server"], "certificate-authority": stranger});
    let cases = [
        ("nobody", &nobody, &token, "hint: check the cluster: kubectl get --raw /readyz"),
        ("web", &web, &token, "check that the address is a Kubernetes API server"),
        ("other", &other, &token, "hint: the certificate-authority of the kubeconfig does not match"),
        ("expired", real, &json!({"token": "not-any-more"}), "hint: these credentials are invalid or expired"),
    ];
    for (name, cluster, user, words) in cases {
        let kubeconfig = ctx.kubeconfig(name, cluster, user);
        for command in commands(ctx) {
            let (code, text, errors) = said(ctx, &command, &kubeconfig);
            assert_eq!((code, text.as_str()), (1, ""), "{name}, {command:?}: {errors}");
            assert!(errors.contains(words) && !errors.contains("secret-token"), "{name}, {command:?}: {errors}");
        }
    }
}

/// Before 1.30 the API server has no policies; `migration.rs` tests `--means` there.
fn old_cluster(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.create(new, &ctx.object(new, "a")).ok();
    let known = json!({"kind": "APIResourceList", "resources": []}).to_string();
    let lacking = json!({"kind": "Status", "message": "the server could not find the requested resource"}).to_string();
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, _, path| {
        let group = "/apis/admissionregistration.k8s.io/v1";
        match path.split('?').next().unwrap_or_default() {
            path if path == group => Fate::Answer(200, None, known.clone()),
            path if path.contains("/validatingadmissionpol") => Fate::Answer(404, None, lacking.clone()),
            path if path.contains("/stagedrollouts") => Fate::Answer(404, None, lacking.clone()),
            _ => Fate::Pass,
        }
    });
    let through = ctx.through(proxy.port);
    let policies =
        ["has no ValidatingAdmissionPolicy in", "hint: docs/install.md lists the oldest supported Kubernetes"];
    let mut all = commands(ctx);
    all.push(vec!["migrate".to_owned(), ctx.crd_name(), "--to".to_owned(), old.to_owned()]);
    let before = ctx.crd_now();
    for command in all {
        let (code, text, errors) = said(ctx, &command, &through);
        let wanted: &[&str] = match command.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["enable", ..] | ["migrate", _, "--to", ..] => &policies,
            ["rollout", ..] => &["this cluster has no CRD of StagedRollouts", "pointsman rollout crd"],
            // Without policies the command has none to find, change or delete.
            _ => &[],
        };
        // `doctor` checks all objects of pointsman in a cluster, also objects of parallel scenarios.
        let finds = command[0] == "doctor" && code == 1 && !errors.contains("error: ");
        let code = if finds { 0 } else { code };
        assert_eq!(code, i32::from(!wanted.is_empty()), "{command:?}: {text}{errors}");
        assert!(wanted.iter().all(|words| errors.contains(words)), "{command:?}: {text}{errors}");
    }
    assert_eq!(ctx.crd_now()["spec"], before["spec"], "the cluster is unchanged");
}

fn not_ours(ctx: &TestContext<'_>) {
    let (new, name) = (ctx.sample.new, ctx.crd_name());
    ctx.conversion();
    let config = &ctx.test_cluster.api.kubeconfig;
    for command in commands(ctx) {
        let words = match command[0].as_str() {
            // `enable` creates the missing CRD.
            "enable" | "rollout" => continue,
            "rotate-ca" => "no CRD and no webhook configuration of this cluster leads to".to_owned(),
            _ => format!("CRD {name} does not exist in this cluster"),
        };
        let (code, text, errors) = said(ctx, &command, config);
        assert!(code == 1 && text.is_empty() && errors.contains(&words), "{command:?}: {text}{errors}");
    }
    // Another webhook converts the CRD, and the CRD has a version that the definition lacks.
    let mut crd = ctx.enabled(new);
    crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"] = json!("theirs");
    ctx.post(CRDS, &crd).ok();
    ctx.eventually(|| ctx.list(new).is_ok().then_some(()));
    let theirs = format!("is converted by Service {}/theirs:", ctx.ns);
    for command in commands(ctx) {
        let words: &[&str] = match command[0].as_str() {
            "enable" => &["the cluster is unchanged", &theirs, "--repoint"],
            "disable" => &["another operator depends on this webhook"],
            "rotate-ca" => &["no CRD and no webhook configuration of this cluster leads to"],
            "status" | "doctor" => &["Service ", "does not exist: install pointsman first"],
            _ => continue,
        };
        let (code, text, errors) = said(ctx, &command, config);
        let all = format!("{text}{errors}");
        assert!(code == 1 && words.iter().all(|words| all.contains(words)), "{command:?}: {all}");
    }
    assert_eq!(ctx.crd_now()["spec"]["conversion"], crd["spec"]["conversion"]);
}
