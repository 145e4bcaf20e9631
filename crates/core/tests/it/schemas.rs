//! The rules in a CRD itself, in each of its versions.

use pointsman_core::registration::{CrdOptions, crd};
use serde_json::{Value, json};

use super::registration::{expression_is_sane, kinds};

/// Every rule of a schema, with its path.
fn validations(schema: &Value, at: &str, found: &mut Vec<(String, Value)>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        found.push((at.to_owned(), rule.clone()));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        validations(property, &format!("{at}.{name}"), found);
    }
}

#[test]
fn crd_has_cel_rules_everywhere() {
    for kind in kinds() {
        let crd = crd(&kind, &CrdOptions::default()).unwrap();
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let mut found = Vec::new();
            validations(&version["schema"]["openAPIV3Schema"], "", &mut found);
            for (at, rule) in &found {
                expression_is_sane(rule["rule"].as_str().unwrap(), &[]);
                let message = rule["message"].as_str().unwrap();
                assert!(!message.is_empty() && message.len() <= 2048 && !message.contains('\n'), "{at}");
                if let Some(path) = rule["fieldPath"].as_str() {
                    let pointer =
                        format!("/schema/openAPIV3Schema{}", format!("{at}{path}").replace('.', "/properties/"));
                    assert!(version.pointer(&pointer).is_some(), "{at} {path}");
                }
            }
            let count = |at: &str| found.iter().filter(|(place, _)| place == at).count();
            match (kind.name(), version["name"].as_str().unwrap()) {
                ("materialize", _) => {
                    assert_eq!(
                        (count(""), count(".spec.balancerdReplicas"), count(".spec.internalCertificateSpec.duration")),
                        (1, 1, 1)
                    );
                    assert_eq!(found.len(), 15, "{found:?}");
                }
                ("gadget", "v2") => {
                    assert_eq!(
                        (count(""), count(".spec.endpoint.port"), count(".spec.tls"), count(".spec.level")),
                        (2, 1, 2, 1)
                    );
                }
                // One field of the older version holds host and port: a rule about a number is impossible there.
                ("gadget", _) => assert_eq!(
                    (count(""), count(".spec.hostPort"), count(".spec.level"), count(".spec.certificate")),
                    (1, 0, 0, 2),
                    "{found:?}"
                ),
                _ => assert!(found.is_empty()),
            }
        }
    }
}

#[test]
fn cel_rules_allow_missing_fields() {
    // As in `/validate`: each requirement separately. Removing an existing value violates the requirement.
    let kind = super::admission::embedded("materialize");
    let crd = crd(&kind, &CrdOptions::default()).unwrap();
    for version in crd["spec"]["versions"].as_array().unwrap() {
        let spec = "/schema/openAPIV3Schema/properties/spec/properties";
        let rules = |field: &str| {
            let pointer = format!("{spec}/{field}/x-kubernetes-validations");
            version.pointer(&pointer).unwrap().clone()
        };
        let (names, issuer) = (
            |of: &str| format!("has({of}.dnsNames) && size({of}.dnsNames) > 0"),
            |of: &str| {
                format!(
                    "has({of}.issuerRef) && (has({of}.issuerRef.group) || has({of}.issuerRef.kind) || has({of}.issuerRef.name))"
                )
            },
        );
        let kept = |set: &dyn Fn(&str) -> String| format!("({} || !({}))", set("self"), set("oldSelf"));
        let console = rules("consoleExternalCertificateSpec");
        let [made, later] = console.as_array().unwrap().as_slice() else { panic!("two rules") };
        // The API server evaluates the first rule also on creation, without an old object.
        assert_eq!(made["rule"], format!("oldSelf.hasValue() || {} && {}", names("self"), issuer("self")));
        assert_eq!((&made["optionalOldSelf"], later.get("optionalOldSelf")), (&json!(true), None));
        assert_eq!(later["rule"], format!("{} && {}", kept(&names), kept(&issuer)));
        assert_eq!(rules("internalCertificateSpec")[1]["rule"], kept(&issuer));
    }
}
