//! The documented example: control planes that change their volume driver.

use pointsman_core::definition::MutatedKind;
use pointsman_core::webhook::{FactValue, KnownFacts, Metadata, Webhook};
use serde_json::{Value, json};

fn file(name: &str) -> String {
    let path = format!("{}/../../manifests/examples/gardener/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

const GATES: &str = "--feature-gates=CSIMigration=true,CSIMigrationAWS=true";

/// A Deployment of the example after the mutation.
fn made(name: &str, is: FactValue) -> Value {
    let mutated = MutatedKind::load("control-plane.yaml", &file("control-plane")).unwrap();
    let webhook = Webhook::new(Vec::new(), Metadata::Identity).unwrap().with_mutations(vec![mutated]).unwrap();
    let mut object: Value = serde_saphyr::from_str(&file(name)).unwrap();
    let mut facts = KnownFacts::default();
    facts.set("csi", is);
    let patch = webhook.mutation(&object.to_string(), None, &facts).unwrap().unwrap().unwrap().0;
    let patch: json_patch::Patch = serde_json::from_value(super::as_json(&patch)).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    object
}

fn pod(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]
}

#[test]
fn gardener_example_matches_upstream() {
    let before = made("kube-apiserver", FactValue::False);
    let command = &pod(&before)["containers"][0]["command"];
    assert_eq!(
        *command,
        json!([
            "/usr/local/bin/kube-apiserver",
            "--allow-privileged=true",
            "--cloud-provider=aws",
            "--cloud-config=/etc/kubernetes/cloudprovider/cloudprovider.conf",
            "--enable-admission-plugins=Priority,PersistentVolumeLabel,NodeRestriction",
            "--secure-port=443",
            GATES,
        ])
    );
    let after = made("kube-apiserver", FactValue::True);
    let container = &pod(&after)["containers"][0];
    assert_eq!(
        container["command"],
        json!([
            "/usr/local/bin/kube-apiserver",
            "--allow-privileged=true",
            "--enable-admission-plugins=Priority,NodeRestriction",
            "--secure-port=443",
            format!("{GATES},CSIMigrationAWSComplete=true"),
            "--disable-admission-plugins=PersistentVolumeLabel",
        ])
    );
    assert!(container.get("env").is_none());
    assert_eq!(
        container["volumeMounts"],
        json!([{"name": "audit-policy-config", "mountPath": "/etc/kubernetes/audit"}])
    );
    assert_eq!(pod(&after)["volumes"].as_array().unwrap().len(), 1);
    assert_eq!(pod(&after)["containers"][1], pod(&before)["containers"][1], "no business of the mutation");
}

#[test]
fn gardener_followers_match_as_well() {
    let before = made("kube-controller-manager", FactValue::False);
    assert_eq!(
        pod(&before)["containers"][0]["command"],
        json!([
            "/usr/local/bin/kube-controller-manager",
            "--cloud-config",
            "/etc/kubernetes/cloudprovider/cloudprovider.conf",
            "--external-cloud-volume-plugin=aws",
            "--feature-gates=RotateKubeletServerCertificate=true,CSIMigration=true,CSIMigrationAWS=true",
            "--leader-elect=true",
            "--cloud-provider=external",
        ])
    );
    let after = made("kube-controller-manager", FactValue::True);
    assert_eq!(
        *pod(&after),
        json!({"containers": [{
            "name": "kube-controller-manager",
            "image": "registry.k8s.io/kube-controller-manager:v1.18.20",
            "command": [
                "/usr/local/bin/kube-controller-manager",
                "--feature-gates=RotateKubeletServerCertificate=true,CSIMigration=true,CSIMigrationAWS=true,\
                 CSIMigrationAWSComplete=true",
                "--leader-elect=true",
                "--cloud-provider=external",
            ],
        }]})
    );

    let after = made("kube-scheduler", FactValue::True);
    let last = pod(&after)["containers"][0]["command"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last, json!(format!("{GATES},CSIMigrationAWSComplete=true")));
}
