//! The rules that a CRD says by itself, in each of its versions.

use pointsman_core::registration::{CrdOptions, crd};
use serde_json::Value;

use super::registration::{expression_is_sane, kinds};

/// Every rule of a schema, with where it stands.
fn validations(schema: &Value, at: &str, found: &mut Vec<(String, Value)>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        found.push((at.to_owned(), rule.clone()));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        validations(property, &format!("{at}.{name}"), found);
    }
}

#[test]
fn crd_has_cel_rules_in_every_version() {
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
                    let below = path.trim_start_matches('.');
                    let pointer =
                        format!("/schema/openAPIV3Schema{}/properties/{below}", at.replace('.', "/properties/"));
                    assert!(version.pointer(&pointer).is_some(), "{at} {path}");
                }
            }
            let count = |at: &str| found.iter().filter(|(place, _)| place == at).count();
            match (kind.name(), version["name"].as_str().unwrap()) {
                ("materialize", _) => {
                    assert_eq!(
                        (
                            count(".spec"),
                            count(".spec.balancerdReplicas"),
                            count(".spec.internalCertificateSpec.duration")
                        ),
                        (1, 1, 1)
                    );
                    assert_eq!(found.len(), 12, "{found:?}");
                }
                ("gadget", "v2") => {
                    assert_eq!(
                        (count(".spec"), count(".spec.endpoint.port"), count(".spec.tls"), count(".spec.level")),
                        (2, 1, 1, 1)
                    );
                }
                // One field of the older version holds host and port: no rule about a number can stand there.
                ("gadget", _) => assert_eq!(
                    (count(".spec"), count(".spec.hostPort"), count(".spec.level"), count(".spec.certificate")),
                    (1, 0, 0, 1),
                    "{found:?}"
                ),
                _ => assert!(found.is_empty()),
            }
        }
    }
}

#[test]
fn cel_rules_let_missing_fields_stay_missing() {
    // As /validate has it: need by need. What was there before is missed when it is taken away.
    let kind = super::admission::embedded("materialize");
    let crd = crd(&kind, &CrdOptions::default()).unwrap();
    for version in crd["spec"]["versions"].as_array().unwrap() {
        let spec = "/schema/openAPIV3Schema/properties/spec/properties";
        let rules = |field: &str| {
            let pointer = format!("{spec}/{field}/x-kubernetes-validations");
            version.pointer(&pointer).unwrap().clone()
        };
        let names = "(has(self.dnsNames) && size(self.dnsNames) > 0 || \
                     oldSelf.hasValue() && !(has(oldSelf.value().dnsNames) && size(oldSelf.value().dnsNames) > 0))";
        let issuer = "(has(self.issuerRef) && has(self.issuerRef.name) || \
                      oldSelf.hasValue() && !(has(oldSelf.value().issuerRef) && has(oldSelf.value().issuerRef.name)))";
        let rule = &rules("consoleExternalCertificateSpec")[0];
        assert_eq!(rule["rule"], format!("{names} && {issuer}"));
        // The API server asks on creation too, where there is nothing before.
        assert_eq!(rule["optionalOldSelf"], true);
        assert_eq!(rules("internalCertificateSpec")[0]["rule"], issuer);
    }
}
