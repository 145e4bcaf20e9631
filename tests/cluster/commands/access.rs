//! Commands without the required rights, or without access to the cluster.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::commands::migrate::{freeze, policy};
use crate::commands::rotate::{register, trust, unregister};
use crate::scenario::Scenario;
use crate::support::acting::{Told, run};
use crate::support::ctx::TestContext;
use crate::support::pki::Authority;
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{ENGINE, Sample, WIDGET};
use crate::support::side_by_side::{A, SideBySide};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("documented_rights_are_enough_and_needed", rights).of(&WIDGETS).newest(),
    Scenario::new("plan_and_disable_rights_are_exact", looking).of(&WIDGETS).newest().failing(),
    Scenario::new("registration_rights_are_exact", registering).of(&ENGINES).newest().failing(),
    Scenario::new("cluster_migration_rights_are_exact", having_migrated)
        .of(&WIDGETS)
        .needs("kube-controller-manager")
        .thorough(),
    Scenario::new("unreachable_cluster_has_a_reason", unreached).of(&WIDGETS).newest(),
    Scenario::new("dry_runs_write_nothing", dry).of(&WIDGETS).newest(),
    Scenario::new("closed_output_changes_nothing", unread).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];
static ENGINES: [&Sample; 1] = [&ENGINE];

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The documented role in docs/rights.md suffices. Without any one verb a command fails with a message that names the
/// right.
fn rights(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.conversion();
    let enables = |who: &Path| {
        ctx.call(Method::DELETE, &format!("{}/{}", crate::support::ctx::CRDS, ctx.crd_name()), None);
        ctx.eventually(|| (ctx.list(old).code == 404).then_some(()));
        // Without a CRD, the definition determines the storage version.
        ctx.try_kubectl(&["delete"], &ctx.printed_policy(new));
        let (code, text, errors) = ctx.enables_at(who, &[]);
        // The second run patches the existing objects.
        if code == 0 { ctx.enables_at(who, &[]) } else { (code, text, errors) }
    };
    // This Service has no endpoints, so that the command reads them.
    let spec = json!({"ports": [{"port": 443}]});
    ctx.post(&format!("/api/v1/namespaces/{}/services", ctx.ns), &json!({"metadata": {"name": "empty"}, "spec": spec}))
        .ok();
    let asks = |who: &Path| {
        let service = format!("--service={}/empty:443", ctx.ns);
        let (code, text, errors) = ctx.enables_at(who, &[&service, "--repoint"]);
        let code = if errors.contains("has no ready endpoint") { 0 } else { code };
        (code, text, errors)
    };
    let migrates = |who: &Path| {
        let (code, _, errors) = ctx.migrate(&["--to", old, "--settle=0s"]);
        assert_eq!(code, 0, "{errors}");
        let name = "a";
        ctx.delete(old, name);
        ctx.create(old, &ctx.object(old, name)).ok();
        ctx.try_kubectl(&["delete"], &ctx.printed_policy(new));
        let (code, text, errors) = ctx.migrate_at(who, &["--to", new, "--settle=0s"]);
        if code != 0 {
            return (code, text, errors);
        }
        // The command patches existing objects and checks the fields of other field managers.
        let (code, _, errors) = ctx.migrate(&["--to", old, "--settle=0s"]);
        assert_eq!(code, 0, "{errors}");
        ctx.kubectl(&["apply", "--server-side", "--force-conflicts"], &ctx.printed_policy(new));
        ctx.migrate_at(who, &["--to", new, "--settle=0s"])
    };
    each_right(ctx, &["pointsman-enable"], &|resource| resource != "endpointslices", &enables);
    each_right(ctx, &["pointsman-enable"], &|resource| resource == "endpointslices", &asks);
    let (code, _, errors) = ctx.enables(&["--force-conflicts", "--repoint"]);
    assert_eq!(code, 0, "{errors}");
    each_right(ctx, &["pointsman-migrate"], &|_| true, &migrates);
    rotating(ctx);
}

/// The same test for `rotate`.
fn rotating(ctx: &TestContext<'_>) {
    register(ctx);
    let other = Authority::new();
    let file = format!("--ca-file={}", ctx.authority().display());
    let rotates = |who: &Path, server: &str| {
        trust(ctx, &[&ctx.test_cluster.authority, &other]);
        run(&["rotate-ca", server, &file, "--settle=0s", &format!("--kubeconfig={}", who.display())].map(str::to_owned))
    };
    let server = ctx.server();
    each_right(ctx, &["pointsman-rotate"], &|resource| resource != "endpointslices", &|who| rotates(who, &server));
    // This Service has no endpoints, so that the command reads them; no object needs conversion.
    ctx.call(Method::DELETE, &ctx.all(ctx.sample.new), None).ok();
    ctx.change_crd(|crd| {
        let client = &mut crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
        (client["name"], client["port"]) = (json!("empty"), json!(443));
    });
    let empty = format!("--service={}/empty", ctx.ns);
    let asks = |who: &Path| {
        let (code, text, errors) = rotates(who, &empty);
        let code = if errors.contains("has no ready endpoint") { 0 } else { code };
        (code, text, errors)
    };
    each_right(ctx, &["pointsman-rotate"], &|resource| resource == "endpointslices", &asks);
    unregister(ctx);
}

/// The same test for read-only commands and for `disable`.
fn looking(ctx: &TestContext<'_>) {
    let (old, new, name) = (ctx.sample.old, ctx.sample.new, ctx.crd_name());
    ctx.enable(new);
    ctx.create(new, &ctx.object(new, "a")).ok();
    let as_ = |who: &Path| format!("--kubeconfig={}", who.display());
    let plans = |who: &Path| ctx.command(&["plan", &name, &as_(who)]);
    each_right(ctx, &["pointsman-plan"], &|_| true, &plans);
    let shows = |who: &Path| ctx.command(&["status", &name, &as_(who)]);
    each_right(ctx, &["pointsman-status"], &|resource| resource != "endpointslices", &shows);
    // Other scenarios in this cluster have registered webhooks, which are unhealthy at times.
    let examines = |who: &Path| {
        let (code, text, errors) = ctx.command(&["doctor", &name, &as_(who)]);
        let forbidden = format!("{text}{errors}").contains("is forbidden");
        assert!(code == 1 || !forbidden, "{text}{errors}");
        (i32::from(forbidden), text, errors)
    };
    each_right(ctx, &["pointsman-doctor", "pointsman-status"], &|resource| resource != "pods", &examines);
    // This Service has no endpoints, so that the command reads them.
    let spec = json!({"ports": [{"port": 443}]});
    let services = format!("/api/v1/namespaces/{}/services", ctx.ns);
    ctx.post(&services, &json!({"metadata": {"name": "empty"}, "spec": spec})).ok();
    let enabled = ctx.crd_now()["spec"].clone();
    ctx.change_crd(|crd| {
        let client = &mut crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
        (client["name"], client["port"]) = (json!("empty"), json!(443));
    });
    let shows = |who: &Path| {
        let (code, text, errors) = ctx.command(&["status", &name, &as_(who)]);
        (if text.contains("has no ready endpoint") { 0 } else { code }, text, errors)
    };
    each_right(ctx, &["pointsman-status"], &|resource| resource == "endpointslices", &shows);
    let leaves = |who: &Path| {
        ctx.change_crd(|crd| crd["spec"] = enabled.clone());
        ctx.eventually(|| ctx.get(old, "a").is_ok().then_some(()));
        own_documents(ctx);
        ctx.command(&["disable", &name, &ctx.server(), "--served", new, "--admission", "--settle=0s", &as_(who)])
    };
    each_right(ctx, &["pointsman-disable"], &|_| true, &leaves);
    ctx.change_crd(|crd| {
        crd["spec"] = enabled.clone();
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["served"] = json!(version["name"] == new);
        }
    });
    ctx.eventually(|| (ctx.list(old).code == 404).then_some(()));
    let forgets = |who: &Path| {
        let kept = json!({"metadata": {"annotations": {format!("pointsman.dev/kept-{old}"): "{\"sparse\":true}"}}});
        ctx.eventually(|| ctx.patch(new, "a", &kept).is_ok().then_some(()));
        ctx.command(&["migrate", &name, "--forget", old, &as_(who)])
    };
    each_right(ctx, &["pointsman-forget"], &|_| true, &forgets);
    ctx.change_crd(|crd| crd["spec"] = enabled.clone());
}

/// The same test for `migrate --means`.
fn having_migrated(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let migrates = |who: &Path| {
        let (code, _, errors) = ctx.migrate(&["--to", old, "--settle=1s"]);
        assert_eq!(code, 0, "{errors}");
        let path =
            format!("/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations/pointsman.{}", ctx.crd_name());
        ctx.call(Method::DELETE, &path, None);
        ctx.migrate_at(who, &["--to", new, "--settle=1s", "--means=auto"])
    };
    each_right(ctx, &["pointsman-migrate-means", "pointsman-migrate"], &|_| true, &migrates);
}

/// One object of each kind that pointsman owns, for this kind alone. None of them blocks writes.
fn own_documents(ctx: &TestContext<'_>) {
    let labels = json!({"app.kubernetes.io/managed-by": "pointsman"});
    let metadata = json!({"name": format!("{}-own", ctx.ns), "labels": labels});
    let rule = |operations: &str| json!({"apiGroups": [ctx.group], "apiVersions": ["*"], "operations": [operations], "resources": [ctx.sample.plural]});
    let webhook = json!({
        "name": format!("own.{}", ctx.group), "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [rule("CREATE")],
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
    });
    let policy = json!({
        "matchConstraints": {"resourceRules": [rule("CONNECT")]}, "validations": [{"expression": "true"}],
    });
    let binding = json!({"policyName": metadata["name"], "validationActions": ["Deny"]});
    for (plural, what, value) in [
        ("mutatingwebhookconfigurations", "webhooks", json!([webhook])),
        ("validatingwebhookconfigurations", "webhooks", json!([webhook])),
        ("validatingadmissionpolicies", "spec", policy),
        ("validatingadmissionpolicybindings", "spec", binding),
    ] {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
        let answer = ctx.post(&path, &json!({"metadata": metadata, what: value}));
        assert!(answer.is_ok() || answer.code == 409, "{}", answer.message());
    }
}

/// The same test for `enable --webhooks`.
fn registering(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.old);
    let _servers = SideBySide::start(ctx, &[A], &[]);
    let service = format!("--service={}/engine-{}:{}", ctx.ns, A.replace('.', "-"), ctx.setup.port);
    let versions = [format!("--controller-version={A}"), format!("--default={A}"), format!("--served={A}")];
    let printed = ctx.pointsman_prints(&["webhooks", &versions[0], &versions[1], &versions[2], &service]);
    let file = ctx.dir.join("webhooks.json");
    fs::write(&file, &printed).unwrap();
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let file = format!("--webhooks={}", file.display());
    let enables = |who: &Path| {
        ctx.try_kubectl(&["delete"], &printed);
        ctx.enables_at(who, &["--force-conflicts", &file])
    };
    each_right(ctx, &["pointsman-enable-webhooks", "pointsman-enable"], &|_| true, &enables);
}

/// Runs a command with all rights of these roles, and once without each selected right of the first role.
pub(crate) fn each_right(
    ctx: &TestContext<'_>,
    roles: &[&str],
    meant: &dyn Fn(&str) -> bool,
    act: &dyn Fn(&Path) -> Told,
) {
    let (role, documented) = (roles[0], documented(ctx, roles[0]));
    let others: Vec<Value> =
        roles[1..].iter().flat_map(|role| self::documented(ctx, role).as_array().unwrap().clone()).collect();
    let user = format!("{}-{role}", ctx.ns);
    let server = fs::read_to_string(&ctx.test_cluster.api.kubeconfig).unwrap();
    let server: Value = serde_saphyr::from_str(&server).unwrap();
    let who = ctx.kubeconfig(role, &server["clusters"][0]["cluster"], &json!({"token": "secret-token", "as": user}));
    let subject = json!({"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"});
    let reference = json!({"kind": "ClusterRole", "name": user, "apiGroup": "rbac.authorization.k8s.io"});
    let binding = json!({"metadata": {"name": user}, "subjects": [subject], "roleRef": reference});
    ctx.post(&format!("{RBAC}/clusterrolebindings"), &binding);
    let grant = |rules: &Value| {
        let rules = [rules.as_array().unwrap().as_slice(), &others].concat();
        let role = json!({"metadata": {"name": user}, "rules": rules});
        if !ctx.post(&format!("{RBAC}/clusterroles"), &role).is_ok() {
            let body = Some(("application/json", role.to_string()));
            ctx.call(Method::PUT, &format!("{RBAC}/clusterroles/{user}"), body).ok();
        }
    };
    grant(&documented);
    wait(ctx, &user, &documented[0], 0, true);
    wait(ctx, &user, documented.as_array().unwrap().last().unwrap(), 0, true);
    let (code, text, errors) = act(&who);
    assert_eq!(code, 0, "{role} is enough: {text}{errors}");
    for (at, rule) in documented.as_array().unwrap().iter().enumerate() {
        let (resources, verbs) = (rule["resources"].as_array().unwrap(), rule["verbs"].as_array().unwrap());
        for (which, resource) in resources.iter().enumerate().filter(|(_, resource)| meant(resource.as_str().unwrap()))
        {
            for verb in verbs {
                let mut rules = documented.clone();
                let mut less = rule.clone();
                less["resources"] = json!([resource]);
                less["verbs"].as_array_mut().unwrap().retain(|other| other != verb);
                rules[at]["resources"].as_array_mut().unwrap().remove(which);
                let rules = rules.as_array_mut().unwrap();
                rules.push(less);
                rules.retain(|rule| rule["verbs"] != json!([]) && rule["resources"] != json!([]));
                grant(&json!(rules));
                let mut asked = rule.clone();
                asked["verbs"] = json!([verb]);
                wait(ctx, &user, &asked, which, false);
                let (code, text, errors) = act(&who);
                let all = format!("{text}{errors}");
                let verb = verb.as_str().unwrap();
                assert_eq!(code, 1, "{role} without {verb} of {resource}: {all}");
                assert!(
                    all.contains(&format!("cannot {verb} resource {resource}")),
                    "{role}, {verb} {resource}: {all}"
                );
                assert!(all.contains("docs/rights.md lists the ClusterRole"), "{role}, {verb} {resource}: {all}");
            }
        }
    }
}

/// Waits until the API server has observed the change of rights.
fn wait(ctx: &TestContext<'_>, user: &str, rule: &Value, which: usize, allowed: bool) {
    let resource = rule["resources"][which].as_str().unwrap();
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = json!({
        "group": rule["apiGroups"][0], "resource": resource, "subresource": subresource, "verb": rule["verbs"][0],
    });
    let review = json!({"spec": {"user": user, "resourceAttributes": attributes}});
    ctx.eventually(|| {
        let answer = ctx.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).ok();
        (answer["status"]["allowed"] == allowed).then_some(())
    });
}

/// The rules of a role in docs/rights.md, or of a rollout in docs/rollouts.md, for the kind of this ctx.
fn documented(ctx: &TestContext<'_>, role: &str) -> Value {
    let block = ["docs/rights.md", "docs/rollouts.md"].into_iter().find_map(|page| {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
        let mut blocks = text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        blocks.find(|block| block.contains(&format!("name: {role}}}"))).map(str::to_owned)
    });
    let mut text = block.expect("a role");
    for (group, plural) in [("elasticsearch.k8s.elastic.co", "elasticsearches"), ("materialize.cloud", "materializes")]
    {
        text = text.replace(group, &ctx.group).replace(plural, ctx.sample.plural);
    }
    let role: Value = serde_saphyr::from_str(&text).unwrap();
    role["rules"].clone()
}

fn unreached(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.old);
    let config = fs::read_to_string(&ctx.test_cluster.api.kubeconfig).unwrap();
    let config: Value = serde_saphyr::from_str(&config).unwrap();
    let real = &config["clusters"][0]["cluster"];
    let server = real["server"].as_str().unwrap();
    let admin = json!({"token": "secret-token"});
    let other = ctx.dir.join("other-ca.crt");
    fs::write(&other, Authority::new().pem).unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let web = web_server();
    let garbage = ctx.dir.join("garbage.crt");
    fs::write(&garbage, "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n").unwrap();
    let at = |port: u16| json!({"server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true});
    let cases = [
        ("nobody", at(1), admin.clone(), "check the cluster: "),
        ("silent", at(silent.local_addr().unwrap().port()), admin.clone(), "no answer from https://127.0.0.1"),
        (
            "web",
            json!({"server": format!("http://127.0.0.1:{web}")}),
            admin.clone(),
            "check that the address is a Kubernetes API server",
        ),
        (
            "stranger",
            json!({"server": server, "certificate-authority": other}),
            admin.clone(),
            "certificate-authority of the kubeconfig does not match",
        ),
        (
            "garbage",
            json!({"server": server, "certificate-authority": garbage}),
            admin.clone(),
            "certificates or credentials of the kubeconfig",
        ),
        ("missing", json!({"server": server, "certificate-authority": "/no/such.crt"}), admin, "/no/such.crt"),
        ("expired", real.clone(), json!({"token": "not-any-more"}), "invalid or expired"),
    ];
    for (name, cluster, user, said) in cases {
        let kubeconfig = ctx.kubeconfig(name, &cluster, &user);
        for (command, told) in [
            ("migrate", ctx.migrate_at(&kubeconfig, &[])),
            ("enable", ctx.enables_at(&kubeconfig, &["--dry-run=server"])),
        ] {
            let (code, text, errors) = told;
            println!("     {name}: {}", errors.trim());
            assert_eq!((code, text.as_str()), (1, ""), "{name}, {command}: {errors}");
            assert!(errors.contains(said), "{name}, {command}: {errors}");
        }
    }
    by_proxy(ctx, web);
    outdated(ctx);
}

/// An older cluster that lacks a kind of the applied documents.
fn outdated(ctx: &TestContext<'_>) {
    let before = ctx.crd_now();
    let old = json!({"kind": "APIResourceList", "resources": []}).to_string();
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, _, path| match path {
        "/apis/admissionregistration.k8s.io/v1" => Fate::Answer(200, None, old.clone()),
        _ => Fate::Pass,
    });
    let (code, _, errors) = ctx.enables_at(&ctx.through(proxy.port), &["--force-conflicts"]);
    println!("     old: {}", errors.trim());
    assert!(code == 1 && errors.contains("has no ValidatingAdmissionPolicy in"), "{errors}");
    assert!(errors.contains("hint: docs/install.md lists the oldest supported Kubernetes"), "{errors}");
    assert_eq!(ctx.crd_now(), before);
}

/// A proxy from the environment is bypassed for a server on this machine, as in kubectl, and used for a remote server.
fn by_proxy(ctx: &TestContext<'_>, web: u16) {
    let began = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(ctx.migrate_args(&ctx.test_cluster.api.kubeconfig, &[]))
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines = ctx.migrate_args(
        &ctx.kubeconfig("far", &json!({"server": "https://far.example.com"}), &json!({"token": "t"})),
        &[],
    );
    lines.push("-o=json".to_owned());
    let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(lines)
        .env("HTTPS_PROXY", format!("http://127.0.0.1:{web}"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("     proxy: {}", errors.trim());
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("far.example.com"), "{errors}");
    let line: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(line["event"], "error", "{line}");
    assert!(began.elapsed() < Duration::from_secs(15));
}

/// A server that speaks HTTP but is not an API server.
pub(crate) fn web_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>");
        }
    });
    port
}

/// Checks every call of the commands in a dry run.
fn dry(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let before = (ctx.crd_now(), ctx.etcd("a"));
    let proxy = Proxy::start(&ctx.test_cluster.api.client, |_, _, _| Fate::Pass);
    let through = ctx.through(proxy.port);
    let (code, text, errors) = ctx.enables_at(&through, &["--dry-run=server", "--force-conflicts", "-o", "json"]);
    assert_eq!(code, 0, "{text}{errors}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["dryRun"], "server");
    let (code, text, errors) = ctx.migrate_at(&through, &["--to", new, "--dry-run", "-o", "json"]);
    assert_eq!(code, 0, "{text}{errors}");
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&result["dryRun"], &result["left"]), (&json!(true), &json!(1)));
    assert!(proxy.calls().len() > 5, "{:?}", proxy.calls());
    for call in proxy.calls() {
        assert!(call.starts_with("GET ") || call.contains("dryRun=All"), "{call}");
    }
    assert_eq!((ctx.crd_now(), ctx.etcd("a")), before);
}

/// With `| head -1`, the command still completes its work and still reports failures in its exit code.
fn unread(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    for at in 0..5 {
        let name = format!("w-{at}");
        ctx.create(old, &ctx.object(old, &name)).ok();
    }
    let unheard = |more: &[&str]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pointsman"))
            .args(ctx.migrate_args(&ctx.test_cluster.api.kubeconfig, more))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        child.wait().unwrap().code()
    };
    assert_eq!(unheard(&["--to", new, "--settle=0s", "--page=1", "-o", "json"]), Some(0));
    assert_eq!(ctx.stored_versions(), json!([new]));
    assert_eq!(unheard(&["--to", "v9", "-o", "json"]), Some(1));
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    ctx.patch(new, "w-0", &held).ok();
    ctx.delete(new, "w-0").ok();
    let (code, text, errors) = ctx.migrate(&["--to", old, "--settle=0s"]);
    assert_eq!(code, 0, "what is being deleted is migrated as well: {text}{errors}");
    ctx.patch(old, "w-0", &json!({"metadata": {"finalizers": null}})).ok();
    // One object cannot be written.
    ctx.create(old, &ctx.object(old, "bad")).ok();
    let policy = policy(ctx);
    freeze(ctx, &policy);
    assert_eq!(unheard(&["--to", new, "--settle=0s"]), Some(1));
    assert_eq!(ctx.stored_versions(), json!([old, new]));
    ctx.kubectl(&["delete"], &policy);
}
