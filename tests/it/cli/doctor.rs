//! `pointsman doctor -f`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::{Value, json as document};

use super::{Answer, json, pointsman, with_stdin};

/// A self-signed certificate.
fn certificate(is_ca: bool, last_year: i32) -> String {
    let mut params = CertificateParams::new(vec!["pointsman.pointsman-system.svc".to_owned()]).unwrap();
    params.is_ca = if is_ca { IsCa::Ca(BasicConstraints::Unconstrained) } else { IsCa::ExplicitNoCa };
    params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

fn authority() -> String {
    certificate(true, 2100)
}

/// The printed CRD and webhooks, with this text in each `caBundle`.
fn printed(pem: &str) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, authority()).unwrap();
    let trust = ["--service", "pointsman-system/pointsman", "--ca-file", file.to_str().unwrap()];
    let crd = pointsman(&[&["crd", "--kind", "materialize", "-o", "json"], &trust[..]].concat()).data();
    let webhooks = [
        "webhooks",
        "--kind",
        "materialize",
        "--controller-version",
        "2.17.0",
        "--served",
        "2.17.0",
        "--default",
        "2.17.0",
        "-o",
        "json",
    ];
    let webhooks = json(&pointsman(&[&webhooks, &trust[..]].concat()).data());
    let mut all = json(&crd)["items"].as_array().unwrap().clone();
    all.retain(|document| document["kind"] == "CustomResourceDefinition");
    all.extend(webhooks["items"].as_array().unwrap().iter().cloned());
    let bundle = Value::from(STANDARD.encode(pem));
    for document in &mut all {
        if let Some(config) = document.pointer_mut("/spec/conversion/webhook/clientConfig") {
            config["caBundle"] = bundle.clone();
        }
        for webhook in document.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
            webhook["clientConfig"]["caBundle"] = bundle.clone();
        }
    }
    all
}

fn doctor(documents: &[Value]) -> Answer {
    let list = document!({"apiVersion": "v1", "kind": "List", "items": documents}).to_string();
    with_stdin(&["doctor", "-f", "-"], list.as_bytes())
}

#[track_caller]
fn finds(documents: &[Value], words: &str) {
    let answer = doctor(documents);
    assert_eq!(answer.code, 1, "{words}: {}{}", answer.stdout, answer.stderr);
    assert!(answer.stdout.contains(words), "{words}: {}", answer.stdout);
}

#[test]
fn printed_documents_fit() {
    assert_eq!(doctor(&printed(&authority())).data(), "OK: no findings\n");
    let both = printed(&format!("{}{}", certificate(true, 2020), authority()));
    assert_eq!(doctor(&both).data(), "OK: no findings\n");
}

#[test]
fn bad_bundle_in_file_is_found() {
    let key = KeyPair::generate().unwrap().serialize_pem();
    for (pem, words) in [
        ("\n", "holds no PEM certificate"),
        ("plain text", "holds no PEM certificate"),
        (key.as_str(), "holds a private key"),
        (&certificate(false, 2100), "holds no authority"),
        (&certificate(true, 2020), "has expired at 2020-01-01"),
    ] {
        for document in printed(pem).iter().take(2) {
            finds(std::slice::from_ref(document), words);
        }
    }
    let mut absent = printed(&authority());
    absent[0]["spec"]["conversion"]["webhook"]["clientConfig"].as_object_mut().unwrap().remove("caBundle");
    finds(&absent[..1], ": has no caBundle");
    absent[1]["webhooks"][0]["clientConfig"].as_object_mut().unwrap().remove("caBundle");
    let answer = doctor(&absent[1..2]);
    assert_eq!(answer.stdout.matches("caBundle").count(), 2, "{}", answer.stdout);
}

#[test]
fn two_authorities_of_service_are_found() {
    let (one, other) = (printed(&authority()), printed(&authority()));
    finds(&[one[0].clone(), other[1].clone(), other[2].clone()], "the caBundle has another authority than");
}

#[test]
fn crd_without_conversion_is_found() {
    let mut crd = printed(&authority()).remove(0);
    crd["spec"]["conversion"] = document!({"strategy": "None"});
    finds(&[crd.clone()], "no conversion webhook");
    finds(&[crd.clone()], "pointsman enable materialize");
    // A kind without a definition.
    (crd["metadata"]["name"], crd["spec"]["group"]) = (document!("materializes.example.com"), document!("example.com"));
    finds(&[crd], "pointsman enable materializes.example.com");
}

#[test]
fn changed_crd_in_file_is_found() {
    let mut crd = printed(&authority()).remove(0);
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["surplus"] =
        document!({"type": "string"});
    finds(&[crd.clone()], "surplus is not in the definition's CRD");
    crd["metadata"]["annotations"] = document!({"pointsman.dev/released": "yes"});
    finds(&[crd], "the guard of the CRD allows every change");
}

#[test]
fn file_without_judged_document_fails() {
    let other = document!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    for documents in [vec![], vec![other]] {
        let error = doctor(&documents).refusal(1);
        assert!(error.contains("cannot check stdin: no CRD, webhook configuration or policy"), "{error}");
        assert!(error.contains("hint: pointsman doctor -f FILE --kinds DIR"), "{error}");
    }
}
