//! The rendered helm chart on a real API server: accepted for all values, and working.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::acting::run;
use crate::support::cert_manager::{self, Volume, secret};
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::pointsman::{Pointsman, Setup};
use crate::support::process::{SOON, eventually};
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B, UNKNOWN};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("chart_accepts_any_values", accepted).of(&ENGINES).needs("helm"),
    Scenario::new("the_plain_manifests_are_accepted", plain).of(&ENGINES).needs("helm"),
    Scenario::new("chart_job_migrates_with_own_rights", migrates).needs("helm"),
    // A second cert-manager would issue certificates as well.
    Scenario::new("chart_installation_converts_and_validates", at_work).of(&ENGINES).needs("helm").alone(),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl TestContext<'_> {
    /// Runs helm or kubectl as a user of this API server. Returns success and output.
    fn tool(&self, name: &str, args: &[&str]) -> (bool, String) {
        let output = Command::new(self.test_cluster.assets.path(name))
            .args(args)
            .current_dir(root())
            .env("KUBECONFIG", &self.test_cluster.api.kubeconfig)
            .env("KUBECACHEDIR", self.dir.join("kubectl-cache"))
            .env("HELM_CACHE_HOME", self.dir.join("helm"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    #[track_caller]
    fn runs(&self, name: &str, args: &[&str]) -> String {
        let (ok, text) = self.tool(name, args);
        assert!(ok, "{name} {args:?}: {text}");
        text
    }

    fn rendered(&self, values: &str, more: &[&str]) -> Vec<Value> {
        let args = ["template", "pointsman", "manifests/chart", "--namespace", &self.ns, "--values", values];
        serde_saphyr::from_multiple(&self.runs("helm", &[&args[..], more].concat())).unwrap()
    }

    /// Runs a strict server-side dry run with kubectl. Returns success and output.
    fn tried(&self, documents: &[Value]) -> (bool, String) {
        let file = self.dir.join("tried.json");
        let list = json!({"apiVersion": "v1", "kind": "List", "items": documents});
        fs::write(&file, list.to_string()).unwrap();
        let args = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", file.to_str().unwrap()];
        self.tool("kubectl", &args)
    }
}

/// True unless the kind belongs to the Prometheus operator, which is not installed here.
fn of_the_test_cluster(document: &Value) -> bool {
    !document["apiVersion"].as_str().unwrap().starts_with("monitoring.coreos.com/")
}

fn accepted(ctx: &TestContext<'_>) {
    cert_manager::install(ctx);
    let restricted = json!({"metadata": {"labels": {
        "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
    }}});
    ctx.call(Method::PATCH, &format!("/api/v1/namespaces/{}", ctx.ns), Some((MERGE, restricted.to_string()))).ok();
    let folder = root().join("manifests/chart/ci").read_dir().unwrap();
    let files: Vec<PathBuf> = folder.map(|file| file.unwrap().path()).collect();
    assert!(files.len() > 3);
    for values in &files {
        let values = values.to_str().unwrap();
        let documents: Vec<Value> = ctx.rendered(values, &[]).into_iter().filter(of_the_test_cluster).collect();
        // Kinds are served a moment after their CRDs exist.
        let said =
            ctx.eventually(|| Some(ctx.tried(&documents)).filter(|(ok, said)| *ok || !said.contains("no matches")));
        // On the host network, Pods need a namespace that allows it.
        if values.contains("control-plane") {
            assert!(said.0 && said.1.contains("host namespaces (hostNetwork=true)"), "{values}: {}", said.1);
            continue;
        }
        assert!(said.0 && !said.1.contains("Warning"), "{values}: {}", said.1);
        let jobs = documents.iter().filter(|it| it["kind"] == "Job");
        for pod in jobs.map(pod_of).chain([pod(&documents)]) {
            let (ok, said) = ctx.tried(&[pod]);
            assert!(ok && !said.contains("Warning"), "{values}: {said}");
        }
    }
    // Proves that the check can fail.
    let values = files.iter().find(|file| file.ends_with("plain-values.yaml")).unwrap().to_str().unwrap();
    let hosted = ctx.rendered(values, &["--set", "hostNetwork=true"]);
    let (ok, said) = ctx.tried(&[pod(&hosted)]);
    assert!(!ok && said.contains("violates PodSecurity"), "{said}");
    let mut misspelt = ctx.rendered(values, &[]).into_iter().find(|it| it["kind"] == "Service").unwrap();
    misspelt["spec"]["selektor"] = json!({});
    let (ok, said) = ctx.tried(&[misspelt]);
    assert!(!ok && said.contains("selektor"), "{said}");
}

/// The Pod of a Deployment, without the priority class, which was not stored.
fn pod(documents: &[Value]) -> Value {
    pod_of(documents.iter().find(|it| it["kind"] == "Deployment").unwrap())
}

fn pod_of(owner: &Value) -> Value {
    let mut pod = owner["spec"]["template"].clone();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!("pointsman");
    pod["metadata"]["namespace"] = owner["metadata"]["namespace"].clone();
    pod["spec"].as_object_mut().unwrap().remove("priorityClassName");
    pod
}

fn plain(ctx: &TestContext<'_>) {
    cert_manager::install(ctx);
    // The output of kustomize, with custom definitions, has the right namespace.
    let kinds = ctx.dir.join("kustomize");
    fs::create_dir_all(&kinds).unwrap();
    for file in ["widgets.yaml", "widgets.crd.yaml"] {
        fs::copy(root().join("tests/data/kinds").join(file), kinds.join(file)).unwrap();
    }
    for folder in ["cert-manager", "secret"] {
        // The paths of bases are relative to the kustomization.
        let up = "../".repeat(kinds.canonicalize().unwrap().components().count() - 1);
        let plain = format!("{up}{}", root().join("manifests/plain").to_str().unwrap().trim_start_matches('/'));
        let kustomization = json!({
            "resources": [format!("{plain}/{folder}")],
            "components": [format!("{plain}/kinds")],
            "images": [{"name": "pointsman", "newName": "registry.example/pointsman"}],
            "configMapGenerator": [{
                "name": "pointsman-kinds", "namespace": "pointsman-system", "files": ["widgets.yaml", "widgets.crd.yaml"],
            }],
        });
        fs::write(kinds.join("kustomization.yaml"), kustomization.to_string()).unwrap();
        let said = ctx.eventually(|| {
            let args = ["apply", "--server-side", "--validate=strict", "-k", kinds.to_str().unwrap()];
            Some(ctx.tool("kubectl", &args)).filter(|(ok, said)| *ok || !said.contains("no matches"))
        });
        assert!(said.0 && !said.1.contains("Warning"), "{folder}: {}", said.1);
        let path = "/apis/apps/v1/namespaces/pointsman-system/deployments/pointsman";
        let pod = ctx.call_get(path)["spec"]["template"]["spec"].clone();
        let container = &pod["containers"][0];
        assert_eq!(container["image"], "registry.example/pointsman:0.1.0");
        assert_eq!(container["env"], json!([{"name": "POINTSMAN_KINDS", "value": "/kinds/files"}]));
        let volume = pod["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == "kinds").unwrap();
        let name = volume["projected"]["sources"][0]["configMap"]["name"].as_str().unwrap().to_owned();
        let kinds = ctx.call_get(&format!("/api/v1/namespaces/pointsman-system/configmaps/{name}"));
        assert_eq!(kinds["data"].as_object().unwrap().len(), 2);
    }
    // The Job in addition.
    let args = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-k", "manifests/plain/migrate"];
    let said = ctx.runs("kubectl", &args);
    assert!(said.contains("job.batch/pointsman-migrate-1 serverside-applied") && !said.contains("Warning"), "{said}");
    ctx.runs("kubectl", &["delete", "--wait=false", "namespace", "pointsman-system"]);
}

/// With the rights of its service account alone, and with the flags of its Pod.
fn migrates(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let values = ctx.dir.join("values.json");
    let kind = json!({"plural": ctx.sample.plural, "group": ctx.group, "to": new});
    let migrate = json!({"enabled": true, "kinds": [kind], "extraArgs": ["--settle=1s"]});
    let files = json!({"widgets.yaml": "a definition"});
    let all = json!({"image": {"repository": "pointsman"}, "migrate": migrate, "kinds": {"files": files}});
    fs::write(&values, all.to_string()).unwrap();
    let documents = ctx.rendered(values.to_str().unwrap(), &["--show-only", "templates/migrate.yaml"]);
    let job = documents.iter().find(|it| it["kind"] == "Job").unwrap().clone();
    let (ok, said) = ctx.tried(std::slice::from_ref(&job));
    assert!(ok && !said.contains("Warning"), "{said}");
    let rights: Vec<&Value> = documents.iter().filter(|it| it["kind"] != "Job").collect();
    ctx.kubectl(&["apply"], &json!({"apiVersion": "v1", "kind": "List", "items": rights}));
    let account = job["spec"]["template"]["spec"]["serviceAccountName"].as_str().unwrap();
    let user = json!({"token": "secret-token", "as": format!("system:serviceaccount:{}:{account}", ctx.ns)});
    let server: Value = serde_saphyr::from_str(&fs::read_to_string(&ctx.test_cluster.api.kubeconfig).unwrap()).unwrap();
    let kubeconfig = ctx.kubeconfig("job", &server["clusters"][0]["cluster"], &user);
    let args = job["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
    let here = |arg: &Value| match arg.as_str().unwrap() {
        "--kinds=/kinds/files" => format!("--kinds={}", ctx.setup.kinds.display()),
        arg => arg.to_owned(),
    };
    let mut args: Vec<String> = args.iter().map(here).collect();
    args.push(format!("--kubeconfig={}", kubeconfig.display()));
    // The API server observes roles after a moment.
    let said = ctx.eventually(|| {
        let (code, text, errors) = run(&args);
        assert!(code == 0 || errors.contains(" cannot "), "{text}{errors}");
        (code == 0).then_some(text)
    });
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["complete"]), (&json!("result"), &json!(true)), "{said}");
    assert_eq!(ctx.etcd("a")["apiVersion"], format!("{}/{new}", ctx.group));
    // The role permits nothing else.
    let mut others = args.clone();
    others[1] = "certificates.cert-manager.io".to_owned();
    others.retain(|arg| !arg.starts_with("--to"));
    let (code, _, errors) = run(&others);
    assert!(code == 1 && errors.contains("cannot get resource"), "{errors}");
}

/// A release and its running parts.
struct Release {
    name: String,
    /// The mounted certificate.
    volume: Volume,
    running: Pointsman,
}

impl Release {
    /// The number of answered reviews, read as in docs/uninstall.md.
    fn requests(&self) -> Vec<String> {
        let page = self.running.metrics();
        let line = |line: &&str| line.starts_with("pointsman_webhook_requests_total");
        page.lines().filter(line).map(str::to_owned).collect()
    }
}

/// Three releases: one for conversion, and one for each of two controller versions.
fn at_work(ctx: &TestContext<'_>) {
    let controllers = cert_manager::start(ctx);
    ctx.stop_pointsman();
    let kinds = format!("--from-file={}", ctx.setup.kinds.display());
    ctx.runs("kubectl", &["create", "configmap", "kinds", "--namespace", &ctx.ns, &kinds]);
    let converts = install(ctx, 1, "pointsman", &[]);
    let issuer = "--set=certificate.issuerRef.name=pointsman,certificate.issuerRef.kind=Issuer";
    let served = format!("--set=admission.servedVersions={{{A},{B}}}");
    let version = |host: u8, version: &str, more: &[&str]| {
        let name = format!("pointsman-{}", version.replace('.', "-"));
        let version = format!("--set=controllerVersion={version}");
        install(ctx, host, &name, &[&[issuer, &served, &version], more].concat())
    };
    let judges = [version(2, A, &["--set=admission.defaultVersion=true"]), version(3, B, &[])];
    let crd = convert(ctx);
    let webhooks = judge(ctx);
    renewed(ctx, &crd);
    // The injector updates the registrations one after the other.
    let before = eventually("the injector is through", SOON, || {
        let before = registered(ctx, &webhooks);
        thread::sleep(Duration::from_secs(2));
        (registered(ctx, &webhooks) == before).then_some(before)
    });
    for release in judges.iter().chain([&converts]) {
        ctx.runs("helm", &["uninstall", &release.name, "--namespace", &ctx.ns]);
    }
    let kinds = "deploy,svc,cm,pdb,netpol,sa,issuers,certificates";
    let left = ctx.runs("kubectl", &["get", kinds, "-n", &ctx.ns, "-o", "name"]);
    // The Services are fakes of this test; the other objects belong to Kubernetes and the user.
    let ours = left.lines().filter(|line| line.contains("pointsman") && !line.starts_with("service/"));
    assert_eq!(ours.collect::<Vec<_>>(), [""; 0], "{left}");
    // A chart that deletes its registrations leaves an unreadable CRD. A chart that keeps them relies on
    // docs/uninstall.md, which deletes them first.
    assert_eq!(registered(ctx, &webhooks), before);
    leave(ctx, &webhooks);
    drop(controllers);
    // Conversions that the API server started at the other version still end at this server.
    eventually("no endpoint is called any more", SOON, || {
        let before = converts.requests();
        let kept = ctx.get(ctx.sample.old, "stamped").ok();
        ctx.update(ctx.sample.old, "stamped", &kept).ok();
        (converts.requests() == before).then_some(())
    });
    for release in judges.into_iter().chain([converts]) {
        ctx.keep((release.running, release.volume));
    }
}

/// The removal of docs/uninstall.md that keeps the objects: in one version, without requests to a webhook.
fn leave(ctx: &TestContext<'_>, webhooks: &Path) {
    let (old, crd) = (ctx.sample.old, ctx.crd_name());
    let said = ctx.commanded(&["disable", &crd, &ctx.server(), "--served", old, "--admission", "--settle=2s"]);
    assert!(said.contains("is disabled") && !said.contains("Webhook"), "{said}");
    let left = ["get", "-f", webhooks.to_str().unwrap(), "--ignore-not-found", "-o", "name"];
    assert_eq!(ctx.runs("kubectl", &left), "");
    let crd = ctx.call_get(&format!("{CRDS}/{crd}"));
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(crd["metadata"]["annotations"]["cert-manager.io/inject-ca-from"], Value::Null);
    assert_eq!(ctx.get(ctx.sample.new, "stamped").code, 404);
}

/// Installs a release, and replaces the kubelet and the Service.
fn install(ctx: &TestContext<'_>, host: u8, name: &str, more: &[&str]) -> Release {
    let (ns, port) = (&ctx.ns, ctx.setup.port);
    let ports = format!("--set=image.repository=pointsman,service.port={port},ports.webhooks={port}");
    let kinds = "--set=kinds.builtIn=false,kinds.configMaps={kinds}";
    let flags = ["install", name, "manifests/chart", "--namespace", ns, &ports, kinds];
    let said = ctx.eventually(|| {
        Some(ctx.tool("helm", &[&flags[..], more].concat())).filter(|(ok, said)| *ok || !said.contains("no matches"))
    });
    assert!(said.0, "{}", said.1);
    assert!(
        said.1.contains("The chart registers nothing") || said.1.contains("the chart registers nothing"),
        "{}",
        said.1
    );
    let mut volume = Volume::new(&ctx.dir.join(name));
    let pair = eventually("the pair is issued", SOON, || secret(ctx, &format!("{name}-tls")));
    volume.project(&pair);
    let path = format!("/apis/apps/v1/namespaces/{ns}/deployments/{name}");
    let deployment = ctx.call_get(&path);
    let args = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap().clone();
    // Ports and files belong to this machine, and a test cannot wait for the drain period of a cluster.
    let elsewhere = ["serve", "--listen", "--admin-listen", "--tls-", "--kinds", "--lame-duck", "--shutdown-grace"];
    let args = args.iter().map(|arg| arg.as_str().unwrap().to_owned());
    let flags = args.filter(|arg| !elsewhere.iter().any(|flag| arg.starts_with(flag))).collect();
    let (cert, key) = volume.pair();
    let host = format!("127.0.0.{host}");
    let log = ctx.setup.log.with_extension(format!("{name}.log"));
    let setup = Setup { cert, key, host: host.clone(), flags, log, ..ctx.setup.clone() };
    let services = format!("/api/v1/namespaces/{ns}/services");
    let service = ctx.call_get(&format!("{services}/{name}"));
    assert_eq!((&service["spec"]["type"], &service["spec"]["ports"][0]["port"]), (&json!("ClusterIP"), &json!(port)));
    ctx.call(Method::DELETE, &format!("{services}/{name}"), None).ok();
    let spec = json!({"type": "ExternalName", "externalName": host});
    ctx.post(&services, &json!({"metadata": {"name": name}, "spec": spec})).ok();
    Release { name: name.to_owned(), volume, running: Pointsman::start(&setup) }
}

/// Writes the output of a pointsman command into a file, and applies the file.
fn applied(ctx: &TestContext<'_>, name: &str, args: &[&str]) -> PathBuf {
    let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(args)
        .arg(format!("--kinds={}", ctx.setup.kinds.display()))
        .arg(format!("--kind={}", ctx.crd_name()))
        .arg(format!("--cert-manager={}/pointsman", ctx.ns))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = ctx.dir.join(name);
    fs::write(&file, output.stdout).unwrap();
    // The CA injector owns fields of all objects with an injected bundle.
    ctx.runs("kubectl", &["apply", "--server-side", "--force-conflicts", "-f", file.to_str().unwrap()]);
    file
}

/// Follows NOTES.txt and docs/install.md: prints the CRD for the release that converts. Returns the CRD.
fn convert(ctx: &TestContext<'_>) -> Value {
    let service = format!("--service={}/pointsman:{}", ctx.ns, ctx.setup.port);
    applied(ctx, "crd.yaml", &["crd", "--storage", ctx.sample.old, &service]);
    let path = format!("{CRDS}/{}", ctx.crd_name());
    let crd = eventually("the bundle is injected", SOON, || {
        let crd = ctx.call_get(&path);
        crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].is_string().then_some(crd)
    });
    let old = ctx.object(ctx.sample.old, "stamped");
    ctx.eventually(|| ctx.create(ctx.sample.old, &old).is_ok().then_some(()));
    let read = ctx.eventually(|| Some(ctx.get(ctx.sample.new, "stamped")).filter(|answer| answer.is_ok()));
    assert_eq!(read.ok()["spec"]["power"], old["spec"]["power"]);
    ctx.delete(ctx.sample.old, "stamped").ok();
    crd
}

/// One command prints the webhooks for both versions, and one guard. Returns the file.
fn judge(ctx: &TestContext<'_>) -> PathBuf {
    let service = format!("--service={}/pointsman-{{version}}:{}", ctx.ns, ctx.setup.port);
    let versions = format!("--side-by-side={A},{B}");
    let file = applied(ctx, "webhooks.yaml", &["webhooks", &versions, "--default", A, &service]);
    let (old, key) = (ctx.sample.old, ctx.label_key());
    let label = |name: &str, label: Option<&str>| ctx.labelled(old, name, label);
    // The guard needs no server; the servers answer once their bundles are injected.
    let unknown = label("unknown", Some(UNKNOWN));
    let tried = format!("{}?dryRun=All", ctx.all(old));
    ctx.eventually(|| ctx.post(&tried, &unknown).message().contains("no controller version").then_some(()));
    let stamped = label("stamped", None);
    let stamped = ctx.eventually(|| Some(ctx.create(old, &stamped)).filter(|answer| answer.is_ok())).ok();
    assert_eq!(stamped["metadata"]["labels"][&key], A);
    let flipped = label("flipped", Some(B));
    ctx.eventually(|| ctx.create(old, &flipped).is_ok().then_some(()));
    file
}

/// Renews the authority. The bundle changes with the next leaf, while the old leaf is still served, since a Secret
/// mount updates slowly. A new key would break trust meanwhile. The harness counts failed conversions.
fn renewed(ctx: &TestContext<'_>, crd: &Value) {
    let path = "/spec/conversion/webhook/clientConfig/caBundle";
    let (before, crd) = (crd.pointer(path), format!("{CRDS}/{}", ctx.crd_name()));
    for name in ["pointsman-ca", "pointsman"] {
        let of = if name == "pointsman" { "pointsman-tls" } else { name };
        let old = secret(ctx, of).unwrap()["tls.crt"].clone();
        cert_manager::renew(ctx, name);
        eventually(name, SOON, || secret(ctx, of).filter(|pair| pair["tls.crt"] != old));
    }
    eventually("the bundle of the renewed authority", SOON, || {
        (ctx.call_get(&crd).pointer(path) != before).then_some(())
    });
    for version in [ctx.sample.new, ctx.sample.old] {
        ctx.eventually(|| {
            let answer = ctx.get(version, "stamped");
            assert!(!answer.message().contains("x509"), "{}", answer.message());
            answer.is_ok().then_some(())
        });
        let judged = ctx.labelled(version, "judged", Some(B));
        let answer = ctx.post(&format!("{}?dryRun=All", ctx.all(version)), &judged);
        assert!(answer.is_ok(), "{}", answer.message());
    }
}

/// The registrations: the spec of the CRD, and the resource versions of the other printed objects.
fn registered(ctx: &TestContext<'_>, webhooks: &Path) -> (Value, String) {
    let webhooks = ["get", "-f", webhooks.to_str().unwrap(), "-o", "jsonpath={.items[*].metadata.resourceVersion}"];
    let crd = ctx.call_get(&format!("{CRDS}/{}", ctx.crd_name()));
    (crd["spec"].clone(), ctx.runs("kubectl", &webhooks))
}
