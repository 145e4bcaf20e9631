//! The guard of the CRD: a conversion stays for as long as it is needed, whoever applies another CRD.

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::sample::{Sample, WIDGET};
use crate::support::scene::{CRDS, JSON, MERGE, Scene};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("guarded_conversion_stays_while_needed", guarded).of(&WIDGETS).failing(),
    Scenario::new("guard_allows_restoring_enable", put_back).of(&WIDGETS).newest().failing().thorough(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

fn guarded(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    scene.create(old, &scene.object(old, "a")).ok();
    put_in_force(scene);
    let says = |answer: &Answer, words: &str| {
        let said = answer.fails(422);
        assert!(said.contains("pointsman-crd-guard") && said.contains(words), "{words}: {said}");
    };
    // A chart, an operator and a person, each in their own way.
    let mut without = crd(scene);
    without["spec"].as_object_mut().unwrap().remove("conversion");
    says(
        &scene.call(Method::PUT, &dry(scene, "helm"), Some((JSON, without.to_string()))),
        " to nobody while v2, v1 are served and v1 may be stored",
    );
    let none = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    says(&merge(scene, "operator", &none), "pointsman disable");
    let elsewhere = json!({"url": "https://127.0.0.1:1/convert", "service": null});
    let elsewhere = json!({"spec": {"conversion": {"webhook": {"clientConfig": elsewhere}}}});
    says(&merge(scene, "kubectl-edit", &elsewhere), "to https://127.0.0.1:1/convert");
    let mut one = without.clone();
    one["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    says(&scene.call(Method::PUT, &dry(scene, "helm"), Some((JSON, one.to_string()))), "to nobody");
    // What is stored cannot go: that is the API server's own word.
    let mut other = crd(scene);
    other["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == new);
    other["spec"]["versions"][0]["storage"] = json!(true);
    let said = scene.call(Method::PUT, &dry(scene, "helm"), Some((JSON, other.to_string()))).fails(422);
    assert!(said.contains("missing from spec.versions"), "{said}");
    // Deletions, one and all.
    let deleted = scene.call(Method::DELETE, &dry(scene, "kubectl"), None);
    says(&deleted, "would delete every object");
    let all = format!("{CRDS}?dryRun=All&fieldSelector=metadata.name%3D{}", scene.crd_name());
    says(&scene.call(Method::DELETE, &all, None), "would delete every object");
    // What is no matter of the guard, and what is meant.
    let authorities = format!("{}{}", scene.bed.authority.pem, crate::support::pki::Authority::new().pem);
    let bundle = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, authorities);
    let bundle = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}});
    merge(scene, "cainjector", &bundle).ok();
    let mut meant = none;
    meant["metadata"] = json!({"annotations": {"pointsman.dev/released": "moved to another cluster"}});
    merge(scene, "operator", &meant).ok();
    // Our own commands look for themselves.
    scene.commanded(&["migrate", &scene.crd_name(), "--to", new, "--settle=2s"]);
    let ca = format!("--ca-file={}", scene.authority().display());
    scene.commanded(&["enable", &scene.crd_name(), &scene.server(), &ca, "--force-conflicts"]);
    let leave = ["disable", &scene.crd_name(), &scene.server(), "--served", new, "--settle=2s", "--admission"];
    let text = scene.commanded(&leave);
    assert!(text.contains("is disabled: 1 object listed"), "{text}");
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let guard = format!("{policies}/pointsman-crd-guard.{}", scene.crd_name());
    assert_eq!(scene.call(Method::GET, &guard, None).code, 404);
    let incomplete = format!("{policies}/pointsman-incomplete.{new}.{}", scene.crd_name());
    assert_eq!(scene.call(Method::GET, &incomplete, None).code, 404);
}

/// A server that answers us and not the API server: nobody must be left with it.
fn put_back(scene: &Scene<'_>) {
    let old = scene.sample.old;
    let mut plain = scene.enabled(old);
    plain["spec"].as_object_mut().unwrap().remove("conversion");
    plain["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    scene.install(&plain);
    scene.create(old, &scene.object(old, "a")).ok();
    let before = crd(scene);
    scene.kubectl(&["apply"], &guard(scene));
    let endpoint = format!("--endpoint=127.0.0.1:{}", scene.setup.port);
    let ca = format!("--ca-file={}", scene.authority().display());
    let wrong = format!("--url=https://localhost:{}", crate::support::process::free_port());
    let said = scene.refused(&["enable", &scene.crd_name(), &wrong, &ca, &endpoint, "--force-conflicts"]);
    assert!(said.contains("the CRD is again what it was"), "{said}");
    assert_eq!(crd(scene)["spec"], before["spec"]);
    scene.kubectl(&["delete"], &guard(scene));
    scene.eventually(|| scene.list(old).is_ok().then_some(()));
}

/// The guard as it is printed.
fn guard(scene: &Scene<'_>) -> Value {
    let printed: Value = serde_json::from_str(&scene.pointsman_prints(&["crd", &scene.server(), "--guard"])).unwrap();
    let items = printed["items"].as_array().unwrap().iter();
    let ours = items.filter(|item| item["metadata"]["name"].as_str().unwrap().starts_with("pointsman-crd-guard."));
    let ours: Vec<&Value> = ours.collect();
    assert_eq!(ours.len(), 2, "a policy and its binding");
    json!({"apiVersion": "v1", "kind": "List", "items": ours})
}

/// Policies come into force a moment after they are there.
fn put_in_force(scene: &Scene<'_>) {
    scene.kubectl(&["apply"], &guard(scene));
    let deleted = || scene.call(Method::DELETE, &dry(scene, "kubectl"), None);
    scene.eventually(|| (!deleted().is_ok()).then_some(()));
}

fn merge(scene: &Scene<'_>, manager: &str, patch: &Value) -> Answer {
    scene.call(Method::PATCH, &dry(scene, manager), Some((MERGE, patch.to_string())))
}

fn dry(scene: &Scene<'_>, manager: &str) -> String {
    format!("{CRDS}/{}?dryRun=All&fieldManager={manager}", scene.crd_name())
}

fn crd(scene: &Scene<'_>) -> Value {
    scene.call_get(&format!("{CRDS}/{}", scene.crd_name()))
}
