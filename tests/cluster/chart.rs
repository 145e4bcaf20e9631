//! What helm makes of the chart, before a real API server: accepted whatever the values, and at work.

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
use crate::support::pointsman::{Pointsman, Setup};
use crate::support::process::{SOON, eventually};
use crate::support::sample::{ENGINE, Sample};
use crate::support::scene::{CRDS, MERGE, Scene};
use crate::support::side_by_side::{A, B, UNKNOWN};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("chart_accepts_any_values", accepted).of(&ENGINES).needs("helm"),
    Scenario::new("the_plain_manifests_are_accepted", plain).of(&ENGINES).needs("helm"),
    Scenario::new("chart_job_migrates_with_own_rights", migrates).needs("helm"),
    // Another cert-manager would issue beside ours.
    Scenario::new("chart_installation_converts_and_validates", at_work).of(&ENGINES).needs("helm").alone(),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Scene<'_> {
    /// Runs helm or kubectl as a user of this API server. Whether it succeeded, and what it said.
    fn tool(&self, name: &str, args: &[&str]) -> (bool, String) {
        let output = Command::new(self.bed.assets.path(name))
            .args(args)
            .current_dir(root())
            .env("KUBECONFIG", &self.bed.api.kubeconfig)
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

    /// What kubectl says of documents that are checked to the last field, and not kept.
    fn tried(&self, documents: &[Value]) -> (bool, String) {
        let file = self.dir.join("tried.json");
        let list = json!({"apiVersion": "v1", "kind": "List", "items": documents});
        fs::write(&file, list.to_string()).unwrap();
        let args = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", file.to_str().unwrap()];
        self.tool("kubectl", &args)
    }
}

/// The Prometheus operator's kinds are not here.
fn of_the_bed(document: &Value) -> bool {
    !document["apiVersion"].as_str().unwrap().starts_with("monitoring.coreos.com/")
}

fn accepted(scene: &Scene<'_>) {
    cert_manager::install(scene);
    let restricted = json!({"metadata": {"labels": {
        "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
    }}});
    scene.call(Method::PATCH, &format!("/api/v1/namespaces/{}", scene.ns), Some((MERGE, restricted.to_string()))).ok();
    let folder = root().join("manifests/chart/ci").read_dir().unwrap();
    let files: Vec<PathBuf> = folder.map(|file| file.unwrap().path()).collect();
    assert!(files.len() > 3);
    for values in &files {
        let values = values.to_str().unwrap();
        let documents: Vec<Value> = scene.rendered(values, &[]).into_iter().filter(of_the_bed).collect();
        // Kinds are served a moment after their CRDs are there.
        let said =
            scene.eventually(|| Some(scene.tried(&documents)).filter(|(ok, said)| *ok || !said.contains("no matches")));
        assert!(said.0 && !said.1.contains("Warning"), "{values}: {}", said.1);
        let jobs = documents.iter().filter(|it| it["kind"] == "Job");
        for pod in jobs.map(pod_of).chain([pod(&documents)]) {
            let (ok, said) = scene.tried(&[pod]);
            assert!(ok && !said.contains("Warning"), "{values}: {said}");
        }
    }
    // That this could have failed.
    let values = files[0].to_str().unwrap();
    let hosted = scene.rendered(values, &["--set", "hostNetwork=true"]);
    let (ok, said) = scene.tried(&[pod(&hosted)]);
    assert!(!ok && said.contains("violates PodSecurity"), "{said}");
    let mut misspelt = scene.rendered(values, &[]).into_iter().find(|it| it["kind"] == "Service").unwrap();
    misspelt["spec"]["selektor"] = json!({});
    let (ok, said) = scene.tried(&[misspelt]);
    assert!(!ok && said.contains("selektor"), "{said}");
}

/// The Pod that a Deployment would have. Its priority class was not kept, so that there is none.
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

fn plain(scene: &Scene<'_>) {
    cert_manager::install(scene);
    // What kustomize makes of them, with definitions of one's own, goes where it says.
    let kinds = scene.dir.join("kustomize");
    fs::create_dir_all(&kinds).unwrap();
    for file in ["widgets.yaml", "widgets.crd.yaml"] {
        fs::copy(root().join("tests/data/kinds").join(file), kinds.join(file)).unwrap();
    }
    for folder in ["cert-manager", "secret"] {
        // Bases are named from where the kustomization is.
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
        let said = scene.eventually(|| {
            let args = ["apply", "--server-side", "--validate=strict", "-k", kinds.to_str().unwrap()];
            Some(scene.tool("kubectl", &args)).filter(|(ok, said)| *ok || !said.contains("no matches"))
        });
        assert!(said.0 && !said.1.contains("Warning"), "{folder}: {}", said.1);
        let path = "/apis/apps/v1/namespaces/pointsman-system/deployments/pointsman";
        let pod = scene.call_get(path)["spec"]["template"]["spec"].clone();
        let container = &pod["containers"][0];
        assert_eq!(container["image"], "registry.example/pointsman:0.1.0");
        assert_eq!(container["env"], json!([{"name": "POINTSMAN_KINDS", "value": "/kinds/files"}]));
        let volume = pod["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == "kinds").unwrap();
        let name = volume["projected"]["sources"][0]["configMap"]["name"].as_str().unwrap().to_owned();
        let kinds = scene.call_get(&format!("/api/v1/namespaces/pointsman-system/configmaps/{name}"));
        assert_eq!(kinds["data"].as_object().unwrap().len(), 2);
    }
    // Beside them, the Job.
    let args = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-k", "manifests/plain/migrate"];
    let said = scene.runs("kubectl", &args);
    assert!(said.contains("job.batch/pointsman-migrate-1 serverside-applied") && !said.contains("Warning"), "{said}");
    scene.runs("kubectl", &["delete", "--wait=false", "namespace", "pointsman-system"]);
}

/// With the rights of its service account alone, and with the flags of its Pod.
fn migrates(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    scene.create(old, &scene.object(old, "a")).ok();
    let values = scene.dir.join("values.json");
    let kind = json!({"plural": scene.sample.plural, "group": scene.group, "to": new});
    let migrate = json!({"enabled": true, "kinds": [kind], "extraArgs": ["--settle=1s"]});
    let files = json!({"widgets.yaml": "a definition"});
    let all = json!({"image": {"repository": "pointsman"}, "migrate": migrate, "kinds": {"files": files}});
    fs::write(&values, all.to_string()).unwrap();
    let documents = scene.rendered(values.to_str().unwrap(), &["--show-only", "templates/migrate.yaml"]);
    let job = documents.iter().find(|it| it["kind"] == "Job").unwrap().clone();
    let (ok, said) = scene.tried(std::slice::from_ref(&job));
    assert!(ok && !said.contains("Warning"), "{said}");
    let rights: Vec<&Value> = documents.iter().filter(|it| it["kind"] != "Job").collect();
    scene.kubectl(&["apply"], &json!({"apiVersion": "v1", "kind": "List", "items": rights}));
    let account = job["spec"]["template"]["spec"]["serviceAccountName"].as_str().unwrap();
    let user = json!({"token": "secret-token", "as": format!("system:serviceaccount:{}:{account}", scene.ns)});
    let server: Value = serde_saphyr::from_str(&fs::read_to_string(&scene.bed.api.kubeconfig).unwrap()).unwrap();
    let kubeconfig = scene.kubeconfig("job", &server["clusters"][0]["cluster"], &user);
    let args = job["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
    let here = |arg: &Value| match arg.as_str().unwrap() {
        "--kinds=/kinds/files" => format!("--kinds={}", scene.setup.kinds.display()),
        arg => arg.to_owned(),
    };
    let mut args: Vec<String> = args.iter().map(here).collect();
    args.push(format!("--kubeconfig={}", kubeconfig.display()));
    // Roles are heard of in a moment.
    let said = scene.eventually(|| {
        let (code, text, errors) = run(&args);
        assert!(code == 0 || errors.contains(" cannot "), "{text}{errors}");
        (code == 0).then_some(text)
    });
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["complete"]), (&json!("result"), &json!(true)), "{said}");
    assert_eq!(scene.etcd("a")["apiVersion"], format!("{}/{new}", scene.group));
    // Nothing else is its to do.
    let mut others = args.clone();
    others[1] = "certificates.cert-manager.io".to_owned();
    others.retain(|arg| !arg.starts_with("--to"));
    let (code, _, errors) = run(&others);
    assert!(code == 1 && errors.contains("cannot get resource"), "{errors}");
}

/// A release, and what runs of it.
struct Release {
    name: String,
    /// Its certificate, as it is mounted.
    volume: Volume,
    running: Pointsman,
}

impl Release {
    /// How many reviews it has answered, as docs/uninstall.md has people look.
    fn requests(&self) -> Vec<String> {
        let page = self.running.metrics();
        let line = |line: &&str| line.starts_with("pointsman_webhook_requests_total");
        page.lines().filter(line).map(str::to_owned).collect()
    }
}

/// Three releases: one that converts, and one for each of two controller versions.
fn at_work(scene: &Scene<'_>) {
    let controllers = cert_manager::start(scene);
    scene.stop_pointsman();
    let kinds = format!("--from-file={}", scene.setup.kinds.display());
    scene.runs("kubectl", &["create", "configmap", "kinds", "--namespace", &scene.ns, &kinds]);
    let converts = install(scene, 1, "pointsman", &[]);
    let issuer = "--set=certificate.issuerRef.name=pointsman,certificate.issuerRef.kind=Issuer";
    let served = format!("--set=admission.servedVersions={{{A},{B}}}");
    let version = |host: u8, version: &str, more: &[&str]| {
        let name = format!("pointsman-{}", version.replace('.', "-"));
        let version = format!("--set=controllerVersion={version}");
        install(scene, host, &name, &[&[issuer, &served, &version], more].concat())
    };
    let judges = [version(2, A, &["--set=admission.defaultVersion=true"]), version(3, B, &[])];
    let crd = convert(scene);
    let webhooks = judge(scene);
    renewed(scene, &crd);
    // The injector goes through all of them, one after the other.
    let before = eventually("the injector is through", SOON, || {
        let before = registered(scene, &webhooks);
        thread::sleep(Duration::from_secs(2));
        (registered(scene, &webhooks) == before).then_some(before)
    });
    for release in judges.iter().chain([&converts]) {
        scene.runs("helm", &["uninstall", &release.name, "--namespace", &scene.ns]);
    }
    let kinds = "deploy,svc,cm,pdb,netpol,sa,issuers,certificates";
    let left = scene.runs("kubectl", &["get", kinds, "-n", &scene.ns, "-o", "name"]);
    // The Services are the stand-ins of this test, the rest Kubernetes' own and the user's.
    let ours = left.lines().filter(|line| line.contains("pointsman") && !line.starts_with("service/"));
    assert_eq!(ours.collect::<Vec<_>>(), [""; 0], "{left}");
    // A chart that takes its registrations along leaves a CRD that nobody can read; a chart that does not, leaves those
    // that docs/uninstall.md has deleted first.
    assert_eq!(registered(scene, &webhooks), before);
    leave(scene, &webhooks);
    drop(controllers);
    // What the API server had begun with the other version still ends with us.
    eventually("nobody is asked any more", SOON, || {
        let before = converts.requests();
        let kept = scene.get(scene.sample.old, "stamped").ok();
        scene.update(scene.sample.old, "stamped", &kept).ok();
        (converts.requests() == before).then_some(())
    });
    for release in judges.into_iter().chain([converts]) {
        scene.keep((release.running, release.volume));
    }
}

/// The way out of docs/uninstall.md, on which the objects stay: in one version, and nobody is asked any more.
fn leave(scene: &Scene<'_>, webhooks: &Path) {
    let (old, crd) = (scene.sample.old, scene.crd_name());
    let said = scene.commanded(&["disable", &crd, &scene.server(), "--served", old, "--admission", "--settle=2s"]);
    assert!(said.contains("is disabled") && !said.contains("Webhook"), "{said}");
    let left = ["get", "-f", webhooks.to_str().unwrap(), "--ignore-not-found", "-o", "name"];
    assert_eq!(scene.runs("kubectl", &left), "");
    let crd = scene.call_get(&format!("{CRDS}/{crd}"));
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(crd["metadata"]["annotations"]["cert-manager.io/inject-ca-from"], Value::Null);
    assert_eq!(scene.get(scene.sample.new, "stamped").code, 404);
}

/// Installs a release, and plays the part of the kubelet and of the Service.
fn install(scene: &Scene<'_>, host: u8, name: &str, more: &[&str]) -> Release {
    let (ns, port) = (&scene.ns, scene.setup.port);
    let ports = format!("--set=image.repository=pointsman,service.port={port},ports.webhooks={port}");
    let kinds = "--set=kinds.builtIn=false,kinds.configMaps={kinds}";
    let flags = ["install", name, "manifests/chart", "--namespace", ns, &ports, kinds];
    let said = scene.eventually(|| {
        Some(scene.tool("helm", &[&flags[..], more].concat())).filter(|(ok, said)| *ok || !said.contains("no matches"))
    });
    assert!(said.0, "{}", said.1);
    assert!(
        said.1.contains("The chart registers nothing") || said.1.contains("the chart registers nothing"),
        "{}",
        said.1
    );
    let mut volume = Volume::new(&scene.dir.join(name));
    let pair = eventually("the pair is issued", SOON, || secret(scene, &format!("{name}-tls")));
    volume.project(&pair);
    let path = format!("/apis/apps/v1/namespaces/{ns}/deployments/{name}");
    let deployment = scene.call_get(&path);
    let args = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap().clone();
    // Ports and files are this machine's, and nobody has time for the drain of a cluster.
    let elsewhere = ["serve", "--listen", "--admin-listen", "--tls-", "--kinds", "--lame-duck", "--shutdown-grace"];
    let args = args.iter().map(|arg| arg.as_str().unwrap().to_owned());
    let flags = args.filter(|arg| !elsewhere.iter().any(|flag| arg.starts_with(flag))).collect();
    let (cert, key) = volume.pair();
    let host = format!("127.0.0.{host}");
    let log = scene.setup.log.with_extension(format!("{name}.log"));
    let setup = Setup { cert, key, host: host.clone(), flags, log, ..scene.setup.clone() };
    let services = format!("/api/v1/namespaces/{ns}/services");
    let service = scene.call_get(&format!("{services}/{name}"));
    assert_eq!((&service["spec"]["type"], &service["spec"]["ports"][0]["port"]), (&json!("ClusterIP"), &json!(port)));
    scene.call(Method::DELETE, &format!("{services}/{name}"), None).ok();
    let spec = json!({"type": "ExternalName", "externalName": host});
    scene.post(&services, &json!({"metadata": {"name": name}, "spec": spec})).ok();
    Release { name: name.to_owned(), volume, running: Pointsman::start(&setup) }
}

/// Writes what a command of ours prints into a file, and applies it.
fn applied(scene: &Scene<'_>, name: &str, args: &[&str]) -> PathBuf {
    let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(args)
        .arg(format!("--kinds={}", scene.setup.kinds.display()))
        .arg(format!("--kind={}", scene.crd_name()))
        .arg(format!("--cert-manager={}/pointsman", scene.ns))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = scene.dir.join(name);
    fs::write(&file, output.stdout).unwrap();
    // The injector of authorities has a say in all that it writes a bundle into.
    scene.runs("kubectl", &["apply", "--server-side", "--force-conflicts", "-f", file.to_str().unwrap()]);
    file
}

/// As NOTES.txt and docs/install.md say: the CRD is printed for the release that converts. Returns it.
fn convert(scene: &Scene<'_>) -> Value {
    let service = format!("--service={}/pointsman:{}", scene.ns, scene.setup.port);
    applied(scene, "crd.yaml", &["crd", "--storage", scene.sample.old, &service]);
    let path = format!("{CRDS}/{}", scene.crd_name());
    let crd = eventually("the bundle is injected", SOON, || {
        let crd = scene.call_get(&path);
        crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].is_string().then_some(crd)
    });
    let old = scene.object(scene.sample.old, "stamped");
    scene.eventually(|| scene.create(scene.sample.old, &old).is_ok().then_some(()));
    let read = scene.eventually(|| Some(scene.get(scene.sample.new, "stamped")).filter(|answer| answer.is_ok()));
    assert_eq!(read.ok()["spec"]["power"], old["spec"]["power"]);
    scene.delete(scene.sample.old, "stamped").ok();
    crd
}

/// One command prints for both versions, and one guard. Returns the file.
fn judge(scene: &Scene<'_>) -> PathBuf {
    let service = format!("--service={}/pointsman-{{version}}:{}", scene.ns, scene.setup.port);
    let versions = format!("--side-by-side={A},{B}");
    let file = applied(scene, "webhooks.yaml", &["webhooks", &versions, "--default", A, &service]);
    let (old, key) = (scene.sample.old, scene.label_key());
    let label = |name: &str, label: Option<&str>| scene.labelled(old, name, label);
    // The guard needs nobody; the servers answer once their bundles are injected.
    let unknown = label("unknown", Some(UNKNOWN));
    let tried = format!("{}?dryRun=All", scene.all(old));
    scene.eventually(|| scene.post(&tried, &unknown).message().contains("no controller version").then_some(()));
    let stamped = label("stamped", None);
    let stamped = scene.eventually(|| Some(scene.create(old, &stamped)).filter(|answer| answer.is_ok())).ok();
    assert_eq!(stamped["metadata"]["labels"][&key], A);
    let flipped = label("flipped", Some(B));
    scene.eventually(|| scene.create(old, &flipped).is_ok().then_some(()));
    file
}

/// The authority is renewed, and with the next leaf the bundle changes, while the old leaf is still served: the mount
/// of a Secret is slow. With another key nobody would be trusted meanwhile. The harness counts conversions that fail.
fn renewed(scene: &Scene<'_>, crd: &Value) {
    let path = "/spec/conversion/webhook/clientConfig/caBundle";
    let (before, crd) = (crd.pointer(path), format!("{CRDS}/{}", scene.crd_name()));
    for name in ["pointsman-ca", "pointsman"] {
        let of = if name == "pointsman" { "pointsman-tls" } else { name };
        let old = secret(scene, of).unwrap()["tls.crt"].clone();
        cert_manager::renew(scene, name);
        eventually(name, SOON, || secret(scene, of).filter(|pair| pair["tls.crt"] != old));
    }
    eventually("the bundle of the renewed authority", SOON, || {
        (scene.call_get(&crd).pointer(path) != before).then_some(())
    });
    for version in [scene.sample.new, scene.sample.old] {
        scene.eventually(|| {
            let answer = scene.get(version, "stamped");
            assert!(!answer.message().contains("x509"), "{}", answer.message());
            answer.is_ok().then_some(())
        });
        let judged = scene.labelled(version, "judged", Some(B));
        let answer = scene.post(&format!("{}?dryRun=All", scene.all(version)), &judged);
        assert!(answer.is_ok(), "{}", answer.message());
    }
}

/// What is registered: the CRD as it is, and the state of all that was printed beside it.
fn registered(scene: &Scene<'_>, webhooks: &Path) -> (Value, String) {
    let webhooks = ["get", "-f", webhooks.to_str().unwrap(), "-o", "jsonpath={.items[*].metadata.resourceVersion}"];
    let crd = scene.call_get(&format!("{CRDS}/{}", scene.crd_name()));
    (crd["spec"].clone(), scene.runs("kubectl", &webhooks))
}
