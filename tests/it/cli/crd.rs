use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

use tempfile::TempDir;

use super::*;

const SERVICE: [&str; 3] = ["crd", "--service", "pointsman-system/pointsman:443"];

#[test]
fn manifest_equals_printed_crd() {
    let command = "pointsman crd --service pointsman-system/pointsman:443 --cert-manager pointsman-system/pointsman";
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    let printed = pointsman(&args).data();
    assert!(
        printed == read("manifests/crd.yaml"),
        "manifests/crd.yaml is not what this build prints. Write it again:\n  cargo run -- {} > manifests/crd.yaml",
        args.join(" ")
    );
}

/// Apart from the conversion and the annotation of pointsman, the CRD equals that of the definition.
#[track_caller]
fn keeps_the_rest(crd: &Value) {
    let mut original = yaml(&read("crates/core/kinds/materialize/materializes.crd.yaml"));
    let mut rest = crd.clone();
    rest["spec"].as_object_mut().unwrap().remove("conversion");
    rest["metadata"].as_object_mut().unwrap().remove("annotations");
    for (one, two) in original["spec"]["versions"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .zip(rest["spec"]["versions"].as_array().unwrap())
    {
        one["storage"] = two["storage"].clone();
    }
    without_rules(&mut rest);
    assert_eq!(rest, original);
}

/// Removes the rules of a schema, the only additions of a printed CRD. Returns their number.
fn without_rules(value: &mut Value) -> usize {
    match value {
        Value::Object(members) => {
            let rules = members.remove("x-kubernetes-validations");
            let here = rules.map_or(0, |rules| rules.as_array().unwrap().len());
            here + members.values_mut().map(without_rules).sum::<usize>()
        }
        Value::Array(elements) => elements.iter_mut().map(without_rules).sum(),
        _ => 0,
    }
}

#[test]
fn crd_has_cel_rules_unless_disabled() {
    let mut with = yaml(&pointsman(&["crd", "--no-conversion"]).data());
    let mut without = yaml(&pointsman(&["crd", "--no-conversion", "--no-rules"]).data());
    assert_eq!(without_rules(&mut without), 0);
    // In each of two versions: one immutable field, two ranges, two rules for each of three needs (for old and new
    // values), six durations.
    assert_eq!(without_rules(&mut with), 2 * 15);
    assert_eq!(with, without);
}

#[test]
fn crd_variants_share_the_schema() {
    let directory = TempDir::new().unwrap();
    let ca = directory.path().join("ca.crt");
    let (authority, _) = certificate(true);
    fs::write(&ca, &authority).unwrap();
    let ca = ca.to_str().unwrap();
    let bundle = STANDARD.encode(authority);
    let service = |port: u16| serde_json::json!({"namespace": "ns", "name": "web", "path": "/convert", "port": port});
    for (args, client, annotation) in [
        (
            vec!["--service", "ns/web", "--ca-file", ca],
            serde_json::json!({"service": service(443), "caBundle": bundle}),
            None,
        ),
        (
            vec!["--service", "ns/web:8443", "--cert-manager", "ns/pair"],
            serde_json::json!({"service": service(8443)}),
            Some("ns/pair"),
        ),
        (
            vec!["--url", "https://127.0.0.1:8443", "--ca-file", ca],
            serde_json::json!({"url": "https://127.0.0.1:8443/convert", "caBundle": bundle}),
            None,
        ),
    ] {
        for format in ["yaml", "json"] {
            let text =
                pointsman(&[&["crd", "--no-rules", "--no-policy", "-o", format], args.as_slice()].concat()).data();
            let crd = if format == "json" { json(&text) } else { yaml(&text) };
            let conversion = serde_json::json!({
                "strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
            });
            assert_eq!(crd["spec"]["conversion"], conversion);
            assert_eq!(crd["metadata"]["annotations"]["cert-manager.io/inject-ca-from"].as_str(), annotation);
            keeps_the_rest(&crd);
        }
    }
    let plain = yaml(&pointsman(&["crd", "--no-conversion", "--no-rules"]).data());
    assert_eq!(plain["spec"].get("conversion"), None);
    keeps_the_rest(&plain);
    let open = pointsman(&SERVICE);
    assert!(open.stderr.starts_with("warning: neither --ca-file nor --cert-manager"), "{}", open.stderr);
}

/// A self-signed certificate and its key.
pub(super) fn certificate(authority: bool) -> (String, String) {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    if authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem().replace('\r', ""), key.serialize_pem())
}

#[test]
fn only_authorities_are_published() {
    let directory = TempDir::new().unwrap();
    let ca = directory.path().join("ca.pem");
    let ca = ca.to_str().unwrap();
    let webhooks = [
        "webhooks",
        "--kind",
        "materialize",
        "--controller-version",
        "2.17.0",
        "--served",
        "2.17.0",
        "--service",
        "a/b",
    ];
    let ((authority, key), (leaf, _)) = (certificate(true), certificate(false));
    for command in [&SERVICE[..], &webhooks] {
        let command = [command, &["--ca-file", ca]].concat();
        fs::write(ca, format!("{key}password: hunter2\n{authority}")).unwrap();
        let printed = pointsman(&command);
        assert!(printed.stderr.contains("also contains a private key. The key is ignored"), "{}", printed.stderr);
        let text = printed.stdout;
        assert!(text.contains(&format!("caBundle: {}", STANDARD.encode(&authority))), "{text}");

        fs::write(ca, &leaf).unwrap();
        let printed = pointsman(&command);
        assert!(
            printed.stderr.contains("is no authority but a server certificate for localhost"),
            "{}",
            printed.stderr
        );
        assert_eq!(printed.code, 0);

        fs::write(ca, key.replace("PRIVATE KEY", "CERTIFICATE")).unwrap();
        let error = pointsman(&command).refusal(1);
        assert!(error.contains("certificate 1 is damaged, or is no certificate"), "{error}");

        fs::write(ca, &key).unwrap();
        assert!(pointsman(&command).refusal(1).contains("the file contains no certificate"));
    }
}

#[test]
fn either_version_can_be_stored() {
    for storage in ["v1alpha1", "v1alpha2"] {
        let crd = yaml(&pointsman(&["crd", "--no-conversion", "--no-rules", "--storage", storage]).data());
        let stored: Vec<&str> = crd["spec"]["versions"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|version| version["storage"] == true)
            .map(|version| version["name"].as_str().unwrap())
            .collect();
        assert_eq!(stored, [storage]);
        keeps_the_rest(&crd);
    }
}

#[test]
fn storage_policy_precedes_crd() {
    let printed = |more: &[&str]| {
        let args = ["--cert-manager", "ns/pair", "-o", "json"];
        json(&pointsman(&[&SERVICE[..], &args, more].concat()).data())
    };
    let all = printed(&["--storage", "v1alpha1"]);
    let kinds: Vec<&str> = all["items"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "CustomResourceDefinition"]);
    let name = "pointsman-incomplete.v1alpha1.materializes.materialize.cloud";
    assert_eq!(all["items"][0]["metadata"]["name"], name);
    // Without a conversion, no policy is printed.
    for one in [printed(&["--no-policy"]), json(&pointsman(&["crd", "--no-conversion", "-o", "json"]).data())] {
        assert_eq!(one["kind"], "CustomResourceDefinition");
    }
}

#[test]
fn partial_crds_need_a_name() {
    let error = pointsman(&["crd", "--no-conversion", "--kinds", ELASTICSEARCH]).refusal(2);
    assert!(error.contains("no kind has versions to convert between: choose with --kind"), "{error}");
    for name in ["elasticsearch", "Elasticsearch", "elasticsearches", "elasticsearches.elasticsearch.k8s.elastic.co"] {
        assert!(pointsman(&["crd", "--kinds", ELASTICSEARCH, "--kind", name]).data().contains("kind: Elasticsearch\n"));
    }
}

#[test]
fn wrong_flags_get_corrections() {
    let error = pointsman(&["crd"]).refusal(2);
    assert_eq!(
        error,
        "error: Materialize has v1alpha1 and v1alpha2: name the conversion webhook with --service NAMESPACE/NAME:PORT or --url, or omit the conversion with --no-conversion\n"
    );
    for (args, part) in [
        (vec!["--kind", "materialise"], "known kinds: materialize"),
        (vec!["--no-conversion", "--storage", "v1"], "--storage v1: Materialize has v1alpha1, v1alpha2"),
        (vec!["--url", "http://a"], "https://"),
        (vec!["--service", "pointsman"], "namespace/name"),
        (vec!["--service", "a/b", "--no-conversion"], "cannot be used with"),
    ] {
        let error = pointsman(&[&["crd"], args.as_slice()].concat()).refusal(2);
        assert!(error.contains(part), "{error}");
    }
    let error = pointsman(&[&SERVICE[..], &["--ca-file", "README"]].concat()).refusal(1);
    assert!(error.contains("failed to read README"), "{error}");
    let error = pointsman(&[&SERVICE[..], &["--ca-file", "Cargo.toml"]].concat()).refusal(1);
    assert!(error.contains("Cargo.toml: the file contains no certificate"), "{error}");
}

#[test]
fn kinds_directory_prints_own_crds() {
    let own = json(&pointsman(&["crd", "--no-conversion", "--kinds", "tests/data/kinds", "-o", "json"]).data());
    let names: Vec<&str> =
        own["items"].as_array().unwrap().iter().map(|crd| crd["spec"]["names"]["kind"].as_str().unwrap()).collect();
    assert!(names.contains(&"Gadget") && !names.contains(&"Materialize"), "{names:?}");
    // By its name, a built-in kind is printed without its own definition.
    let args = ["crd", "--no-conversion", "--kinds", "tests/data/kinds", "--kind", "materialize"];
    assert!(pointsman(&args).data().contains("  name: materializes.materialize.cloud\n"));
}

#[test]
fn served_versions_follow_flags() {
    let served = |versions: &str| {
        let args = ["crd", "--kind", "materialize", "--no-conversion", "-o", "json", "--served", versions];
        let crd: Value = serde_json::from_str(&pointsman(&args).stdout).unwrap();
        let versions = crd["spec"]["versions"].as_array().unwrap().clone();
        let served = versions.iter().filter(|version| version["served"] == true);
        served.map(|version| version["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(served("v1alpha1,v1alpha2").len(), 2);
    assert_eq!(served("v1alpha2"), ["v1alpha2"]);
    let unknown = pointsman(&["crd", "--kind", "materialize", "--no-conversion", "--served", "v9"]).refusal(2);
    assert_eq!(unknown, "error: --served v9: Materialize has v1alpha1, v1alpha2\n");
}
