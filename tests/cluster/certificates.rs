//! A real cert-manager issues the pair and renews it, and its cainjector fills in the CRD's `caBundle`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use crate::load::under_load;
use crate::scenario::Scenario;
use crate::support::pointsman::Pointsman;
use crate::support::process::{Process, eventually, free_port};
use crate::support::scene::{CRDS, Scene};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("certificate_renewal_fails_no_request", renewed).needs("cert-manager-controller").materialize()];

fn renewed(scene: &Scene<'_>) {
    let _controllers = cert_manager(scene);
    issue(scene);
    let mut volume = Volume { dir: scene.dir.join("volume"), generation: 0 };
    let mut secret = eventually("the pair is issued", Duration::from_secs(60), || read_secret(scene));
    volume.project(&secret);
    // As in production: the files are those of the Secret, and nobody restarts us for a renewal.
    scene.stop_pointsman();
    let mut setup = scene.setup.clone();
    (setup.cert, setup.key) = (volume.dir.join("tls.crt"), volume.dir.join("tls.key"));
    *scene.pointsman.borrow_mut() = Some(Pointsman::start(&setup));
    let bundle = install(scene);
    let (load, ()) = under_load(scene, 10, || {
        for round in 0..RENEWALS {
            renew(scene);
            let before = secret["tls.crt"].clone();
            secret = eventually("a renewed pair", Duration::from_secs(20), || {
                read_secret(scene).filter(|secret| secret["tls.crt"] != before)
            });
            volume.project(&secret);
            eventually("the renewed pair is served", Duration::from_secs(15), || {
                let page = scene.pointsman.borrow().as_ref().unwrap().metrics();
                (reloads(&page) > round).then_some(())
            });
        }
    });
    println!("     {RENEWALS} renewals under {} requests: {} errors", load.requests, load.errors.len());
    assert_eq!(load.errors, [""; 0]);
    assert_eq!(ca_bundle(scene), bundle, "the authority outlives its leaves");
}

/// How often the pair was taken over since the start.
fn reloads(page: &str) -> u64 {
    let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64;
    let success =
        |line: &&str| !line.starts_with('#') && line.contains("certificate_reloads_total") && line.contains("success");
    page.lines().filter(success).map(count).sum()
}

fn cert_manager(scene: &Scene<'_>) -> [Process; 2] {
    let bed = scene.bed;
    let kubeconfig = format!("--kubeconfig={}", bed.api.kubeconfig.display());
    let output = Command::new(bed.assets.path("kubectl"))
        .args([&kubeconfig, "apply", "--server-side", "-f"])
        .arg(bed.assets.path("cert-manager-crds"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let start = |name: &str, more: &[String]| {
        let args = [&[kubeconfig.clone(), "--leader-elect=false".to_owned()], more].concat();
        let log = bed.logs.join(format!("{name}.log"));
        Process::start(name, &bed.assets.path(name), &args, &log)
    };
    let metrics = format!("--metrics-listen-address=127.0.0.1:{}", free_port());
    let controller =
        start("cert-manager-controller", &["--cluster-resource-namespace=cert-manager".to_owned(), metrics]);
    [controller, start("cert-manager-cainjector", &[])]
}

/// A long-lived authority, and a leaf as our chart asks for it.
fn issue(scene: &Scene<'_>) {
    let ns = &scene.ns;
    let create = |plural: &str, name: &str, spec: Value| {
        let kind = if plural == "issuers" { "Issuer" } else { "Certificate" };
        let object = json!({
            "apiVersion": "cert-manager.io/v1", "kind": kind,
            "metadata": {"name": name, "namespace": ns}, "spec": spec,
        });
        let path = format!("/apis/cert-manager.io/v1/namespaces/{ns}/{plural}");
        scene.eventually(|| scene.post(&path, &object).is_ok().then_some(()));
    };
    create("issuers", "self", json!({"selfSigned": {}}));
    create(
        "certificates",
        "authority",
        json!({
            "isCA": true, "commonName": "pointsman", "secretName": "authority", "duration": "87600h",
            "privateKey": {"algorithm": "ECDSA", "size": 256}, "issuerRef": {"name": "self", "kind": "Issuer"},
        }),
    );
    create("issuers", "authority", json!({"ca": {"secretName": "authority"}}));
    create(
        "certificates",
        "leaf",
        json!({
            "secretName": "leaf", "dnsNames": [format!("pointsman.{ns}.svc"), "localhost"],
            "usages": ["digital signature", "server auth"],
            "privateKey": {"algorithm": "Ed25519", "rotationPolicy": "Always"},
            "issuerRef": {"name": "authority", "kind": "Issuer"},
        }),
    );
}

fn read_secret(scene: &Scene<'_>) -> Option<Value> {
    let path = format!("/api/v1/namespaces/{}/secrets/leaf", scene.ns);
    let answer = scene.call(Method::GET, &path, None);
    let data = answer.is_ok().then(|| answer.body["data"].clone())?;
    (data["tls.crt"].as_str()?.len() > 10).then_some(data)
}

/// The CRD, with an annotation where the bundle should be. Returns the bundle.
fn install(scene: &Scene<'_>) -> Value {
    let mut crd = scene.armed(scene.sample.new);
    let from = format!("{}/leaf", scene.ns);
    crd["metadata"]["annotations"] = json!({"cert-manager.io/inject-ca-from": from});
    let client = crd["spec"]["conversion"]["webhook"]["clientConfig"].as_object_mut().unwrap();
    client.remove("caBundle");
    scene.post(CRDS, &crd).ok();
    let bundle = eventually("the bundle is injected", Duration::from_secs(30), || {
        Some(ca_bundle(scene)).filter(|bundle| bundle.is_string())
    });
    for version in [scene.sample.old, scene.sample.new] {
        scene.eventually(|| {
            let probe = scene.object(version, "probe");
            scene.post(&format!("{}?dryRun=All", scene.all(version)), &probe).is_ok().then_some(())
        });
    }
    bundle
}

fn ca_bundle(scene: &Scene<'_>) -> Value {
    let crd = scene.call_get(&format!("{CRDS}/{}", scene.crd_name()));
    crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].clone()
}

/// What `cmctl renew` does.
fn renew(scene: &Scene<'_>) {
    let path = format!("/apis/cert-manager.io/v1/namespaces/{}/certificates/leaf", scene.ns);
    let issuing = json!([{"op": "add", "path": "/status/conditions/-", "value": {
        "type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renew",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }}]);
    let patch = Some(("application/json-patch+json", issuing.to_string()));
    // Until the last renewal is written down, there may be such a condition still.
    let settled = |certificate: &Value| {
        let conditions = certificate["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
            && !conditions.iter().any(|it| it["type"] == "Issuing" && it["status"] == "True")
    };
    scene.eventually(|| settled(&scene.call_get(&path)).then_some(()));
    scene.call(Method::PATCH, &format!("{path}/status"), patch).ok();
}

/// A stand-in for the kubelet: `tls.crt -> ..data/tls.crt`, `..data -> ..7` (kubernetes `atomic_writer.go`).
struct Volume {
    dir: PathBuf,
    generation: u32,
}

impl Volume {
    fn project(&mut self, secret: &Value) {
        self.generation += 1;
        let name = format!("..{}", self.generation);
        fs::create_dir_all(self.dir.join(&name)).unwrap();
        for (file, value) in secret.as_object().unwrap() {
            let bytes = STANDARD.decode(value.as_str().unwrap()).unwrap();
            fs::write(self.dir.join(&name).join(file), bytes).unwrap();
            if self.generation == 1 {
                symlink(Path::new("..data").join(file), self.dir.join(file)).unwrap();
            }
        }
        symlink(&name, self.dir.join("..data_tmp")).unwrap();
        fs::rename(self.dir.join("..data_tmp"), self.dir.join("..data")).unwrap();
        if self.generation > 1 {
            let old = format!("..{}", self.generation - 1);
            fs::remove_dir_all(self.dir.join(old)).unwrap();
        }
    }
}

const RENEWALS: u64 = 20;
