//! CRDs and webhook configurations of files, examined without a cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use super::agreement::{TrustedServer, disagreements};
use super::registration_problem::RegisteredFinding;
use super::webhook_clients::WebhookClient;
use crate::admission_documents::is_pointsmans;
use crate::conversion::{ClientStanza, WebhookPlace};
use crate::crd_state::CrdState;
use crate::status::{declared, findings};

/// Information about kinds, for an examination of documents.
pub struct DocumentOptions<'o> {
    /// The command line name of a CRD's kind, given `plural.group`.
    pub kind: &'o dyn Fn(&str) -> Option<String>,
    /// The differences between a CRD and its definition; empty without a definition.
    pub drift: &'o dyn Fn(&Value) -> Vec<String>,
    /// Seconds since 1970.
    pub now: u64,
}

/// The result of an examination of documents.
#[derive(Clone, Debug, Default)]
pub struct ExaminedDocuments {
    /// Findings.
    pub findings: Vec<RegisteredFinding>,
    /// The number of examined documents. With zero, the result is no proof.
    pub examined: usize,
}

/// Examines documents without a cluster: every CRD, and each webhook configuration that is of pointsman or refers to
/// the server of another document. Finds the same as [`status`](crate::status()) and [`examine`](crate::examine()) in a
/// cluster, as far as documents show it. A bundle injected by cert-manager may be missing.
#[must_use]
pub fn examine_documents(documents: &[Value], options: &DocumentOptions<'_>) -> ExaminedDocuments {
    let mut examined = ExaminedDocuments::default();
    let (mut servers, mut places) = (Vec::new(), BTreeSet::<WebhookPlace>::new());
    for document in documents.iter().filter(|document| is_crd(document)) {
        examined.examined += 1;
        examine_crd(document, options, &mut examined.findings, &mut servers);
    }
    places.extend(servers.iter().map(|one: &TrustedServer| one.stanza.place.clone()));
    let configurations = || documents.iter().filter(|document| is_configuration(document));
    let own = configurations().filter(|document| is_pointsmans(document));
    places.extend(own.flat_map(WebhookClient::all).map(|client| client.stanza.place));
    for document in configurations() {
        let all = WebhookClient::all(document);
        let is_related = |client: &WebhookClient<'_>| places.iter().any(|place| client.stanza.place.is_of(place));
        let clients: Vec<_> = all.into_iter().filter(is_related).collect();
        let (title, is_injected) = (title(document), is_injected(document));
        examined.examined += usize::from(!clients.is_empty() || is_pointsmans(document));
        for client in clients {
            let faults = client.faults(options.now);
            let counted = faults.iter().filter(|fault| !(is_injected && fault.is_placeholder()));
            examined.findings.extend(counted.map(|fault| client.finding(&title, fault, None)));
            if !is_injected {
                servers.push(TrustedServer { title: title.clone(), stanza: client.stanza });
            }
        }
    }
    examined.findings.extend(disagreements(&servers));
    examined
}

fn examine_crd(
    document: &Value,
    options: &DocumentOptions<'_>,
    found: &mut Vec<RegisteredFinding>,
    servers: &mut Vec<TrustedServer>,
) {
    let title = title(document);
    let crd = match CrdState::new(document.clone()) {
        Ok(crd) => crd,
        Err(error) => {
            let (problem, fix) = (error.to_string(), "kubectl apply --dry-run=server names the field".to_owned());
            found.push(RegisteredFinding { document: title, problem, fix });
            return;
        }
    };
    let kind = (options.kind)(&crd.name()).unwrap_or_else(|| crd.name());
    let mut seen = declared(&crd, (options.drift)(document), options.now);
    let is_injected = is_injected(document);
    seen.bundle.retain(|fault| !(is_injected && fault.is_placeholder()));
    found.extend(findings(&seen, &kind, options.now).into_iter().map(|one| RegisteredFinding {
        document: title.clone(),
        problem: one.problem,
        fix: one.fix,
    }));
    let stanza = ClientStanza::of(document).filter(|_| crd.is_converted() && !seen.disabling);
    servers.extend(stanza.filter(|_| !is_injected).map(|stanza| TrustedServer { title, stanza }));
}

/// Kind and name.
fn title(document: &Value) -> String {
    let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("/kind"), text("/metadata/name"))
}

fn is_crd(document: &Value) -> bool {
    is_of(document, "apiextensions.k8s.io/") && kind(document) == "CustomResourceDefinition"
}

fn is_configuration(document: &Value) -> bool {
    is_of(document, "admissionregistration.k8s.io/") && kind(document).ends_with("WebhookConfiguration")
}

fn kind(document: &Value) -> &str {
    document.get("kind").and_then(Value::as_str).unwrap_or_default()
}

fn is_of(document: &Value, group: &str) -> bool {
    document.get("apiVersion").and_then(Value::as_str).is_some_and(|version| version.starts_with(group))
}

/// True if cert-manager injects the bundle (<https://cert-manager.io/docs/concepts/ca-injector/>).
fn is_injected(document: &Value) -> bool {
    let annotations = document.pointer("/metadata/annotations").and_then(Value::as_object);
    annotations.is_some_and(|all| all.keys().any(|name| name.starts_with("cert-manager.io/inject-")))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use serde_json::json;

    use super::*;

    fn authority() -> String {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        STANDARD.encode(params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem())
    }

    fn client(bundle: &str) -> Value {
        json!({"service": {"namespace": "n", "name": "s", "path": "/convert"}, "caBundle": bundle})
    }

    fn crd(conversion: Value) -> Value {
        let version = |name: &str, field: &str| {
            let schema = json!({"type": "object", "properties": {field: {"type": "string"}}});
            json!({"name": name, "served": true, "storage": name == "v2", "schema": {"openAPIV3Schema": schema}})
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "ws.e.com"},
            "spec": {
                "group": "e.com", "names": {"plural": "ws"}, "versions": [version("v1", "a"), version("v2", "b")],
                "conversion": conversion,
            },
        })
    }

    fn converted(bundle: &str) -> Value {
        crd(json!({"strategy": "Webhook", "webhook": {"clientConfig": client(bundle)}}))
    }

    fn configuration(name: &str, bundle: &str) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name}, "webhooks": [{"clientConfig": client(bundle)}],
        })
    }

    fn problems(documents: &[Value]) -> Vec<String> {
        let options = DocumentOptions { kind: &|_| None, drift: &|_| Vec::new(), now: 1_790_000_000 };
        let findings = examine_documents(documents, &options).findings.into_iter();
        findings.map(|one| format!("{}: {}", one.document, one.problem)).collect()
    }

    #[track_caller]
    fn one(documents: &[Value], words: &str) {
        let found = problems(documents);
        assert!(found.len() == 1 && found[0].contains(words), "{words}: {found:?}");
    }

    #[test]
    fn file_with_bad_bundle_is_found() {
        let good = authority();
        assert_eq!(problems(&[converted(&good), configuration("pointsman-v", &good)]), [""; 0]);
        for (bundle, words) in [
            ("Cg==", "the caBundle holds no PEM certificate"),
            ("", "has no caBundle"),
            ("*", "the caBundle is not base64"),
        ] {
            one(&[converted(bundle)], &format!("CustomResourceDefinition ws.e.com: {words}"));
            one(&[converted(bundle)], words);
            one(&[configuration("pointsman-v", bundle)], words);
            // Another configuration for the same server.
            one(&[converted(&good), configuration("other", bundle)], words);
        }
    }

    #[test]
    fn injected_bundle_may_be_absent() {
        for bundle in ["", "Cg=="] {
            for mut document in [converted(bundle), configuration("pointsman-v", bundle)] {
                document["metadata"]["annotations"] = json!({"cert-manager.io/inject-ca-from": "n/c"});
                assert_eq!(problems(&[document]), [""; 0]);
            }
        }
    }

    #[test]
    fn two_authorities_in_files_are_found() {
        let words = "ValidatingWebhookConfiguration pointsman-v: the caBundle has another authority";
        one(&[converted(&authority()), configuration("pointsman-v", &authority())], words);
    }

    #[test]
    fn crd_without_conversion_is_found() {
        let words = "no conversion webhook, with v1, v2 served and v2 stored";
        one(&[crd(json!({"strategy": "None"}))], words);
        one(&[crd(Value::Null)], words);
        let mut two_stored = crd(json!({"strategy": "None"}));
        two_stored["spec"]["versions"][0]["served"] = json!(false);
        assert_eq!(problems(&[two_stored.clone()]), [""; 0]);
        two_stored["status"] = json!({"storedVersions": ["v1", "v2"]});
        one(&[two_stored.clone()], "with v2 served and v1, v2 stored");
        two_stored["spec"]["versions"][0]["schema"] = two_stored["spec"]["versions"][1]["schema"].clone();
        one(&[two_stored], "objects may still be stored as v1");
    }

    #[test]
    fn other_documents_are_left_alone() {
        let options = DocumentOptions { kind: &|_| None, drift: &|_| Vec::new(), now: 0 };
        let others = [configuration("other", "Cg=="), json!({"kind": "CustomResourceDefinition"}), json!({})];
        let examined = examine_documents(&others, &options);
        assert_eq!((examined.findings, examined.examined), (Vec::new(), 0));
        let mut broken = converted("");
        broken["spec"]["versions"] = json!([]);
        one(&[broken], "no storage version");
    }
}
