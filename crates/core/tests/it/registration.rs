//! The registered configurations, validated like by the API server on apply.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pointsman_core::definition::Kind;
use pointsman_core::registration::{
    Address, CaBundle, ClientConfig, GuardMode, Selection, Service, Trust, guard, incomplete, webhooks,
};
use serde_json::{Value, json};

use super::admission::{elasticsearch, embedded, load, version};

const PEM: &[u8] = b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";

fn service(trust: Trust) -> ClientConfig {
    let service = Service::per_version("pointsman/pointsman-{version}").unwrap();
    ClientConfig { address: Address::Service(service), trust }
}

/// A service with a `caBundle`, and a service with cert-manager's authority.
fn services() -> [ClientConfig; 2] {
    let bundle = CaBundle::from_pem(PEM).unwrap();
    [Trust::CaBundle(bundle), Trust::CertManager("pointsman/serving".parse().unwrap())].map(service)
}

fn is_subdomain(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![embedded("materialize"), elasticsearch(), load("gadgets.yaml")]
}

#[test]
fn webhook_configurations_are_valid() {
    let longest = format!("2.17.0-{}", "x".repeat(56));
    for kind in kinds() {
        for controller in ["2.17.0", "2.17", "v2.17.0", "2.17.0-RC.1", &longest] {
            let controller = version(controller);
            for (selection, client) in [Selection::Labelled, Selection::Unlabelled]
                .into_iter()
                .flat_map(|selection| services().map(|client| (selection, client)))
            {
                let documents = webhooks(&kind, &controller, selection, &client);
                let [mutating, validating] = documents.as_slice() else { panic!("{documents:?}") };
                for (document, what, path) in
                    [(mutating, "Mutating", "/mutate"), (validating, "Validating", "/validate")]
                {
                    configuration(document, what, path, &kind, controller.as_str(), selection);
                    trusting(document, &client.trust);
                }
                assert_eq!(mutating["webhooks"][0]["reinvocationPolicy"], "IfNeeded");
                assert!(validating["webhooks"][0].get("reinvocationPolicy").is_none());
            }
        }
    }
}

#[test]
fn audit_webhooks_fail_open() {
    for kind in kinds() {
        let (next, other) = (version("2.17.0"), version("2.16.0"));
        let selection = Selection::Shadowed(&other);
        for client in services() {
            let documents = webhooks(&kind, &next, selection, &client);
            let [validating] = documents.as_slice() else { panic!("{documents:?}") };
            configuration(validating, "Validating", "/validate", &kind, "2.17.0", selection);
            trusting(validating, &client.trust);
        }
    }
}

/// The document contains the bundle, or an annotation that lets cert-manager write the bundle, never both.
fn trusting(document: &Value, trust: &Trust) {
    let bundle = &document["webhooks"][0]["clientConfig"]["caBundle"];
    let annotations = &document["metadata"]["annotations"];
    match trust {
        Trust::CaBundle(_) => {
            assert_eq!(bundle, &json!(STANDARD.encode(PEM)));
            assert!(annotations.is_null());
        }
        Trust::CertManager(_) => {
            assert!(bundle.is_null());
            assert_eq!(annotations["cert-manager.io/inject-ca-from"], "pointsman/serving");
        }
        other => panic!("{other:?}"),
    }
}

fn configuration(document: &Value, what: &str, path: &str, kind: &Kind, controller: &str, selection: Selection<'_>) {
    assert_eq!(document["apiVersion"], "admissionregistration.k8s.io/v1");
    assert_eq!(document["kind"], format!("{what}WebhookConfiguration"));
    assert!(is_subdomain(document["metadata"]["name"].as_str().unwrap()), "{document}");
    let [webhook] = document["webhooks"].as_array().unwrap().as_slice() else { panic!("{document}") };
    let name = webhook["name"].as_str().unwrap();
    assert!(is_subdomain(name) && name.split('.').count() >= 3, "{name}");
    assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
    assert_eq!(webhook["sideEffects"], "None");
    assert_eq!(webhook["matchPolicy"], "Equivalent");
    let timeout = webhook["timeoutSeconds"].as_u64().unwrap();
    // No write waits for a server in shadow mode.
    assert_eq!(timeout, if matches!(selection, Selection::Shadowed(_)) { 1 } else { 10 });
    let service = &webhook["clientConfig"]["service"];
    assert_eq!((&service["path"], &service["port"]), (&json!(path), &json!(443)));
    let host = service["name"].as_str().unwrap();
    assert!(is_subdomain(host) && !host.contains(['.', '{']), "{host}");
    let label = if kind.group() == "example.com" {
        "example.com/managed-by-version"
    } else if kind.name() == "materialize" {
        "materialize.cloud/controller-version"
    } else {
        "eaas.search.mercari.in/desired-controller-version"
    };
    let expected = match selection {
        Selection::Labelled => json!({"key": label, "operator": "In", "values": [controller]}),
        Selection::Shadowed(other) => {
            json!({"key": label, "operator": "In", "values": [other.as_str()]})
        }
        Selection::Unlabelled => json!({"key": label, "operator": "DoesNotExist"}),
    };
    let failure = match selection {
        Selection::Shadowed(_) => "Ignore",
        Selection::Labelled | Selection::Unlabelled => "Fail",
    };
    assert_eq!(webhook["failurePolicy"], failure);
    let going = "oldObject == null || !has(oldObject.metadata.deletionTimestamp)";
    assert_eq!(webhook["matchConditions"][0]["expression"], going);
    assert_eq!(webhook["objectSelector"], json!({"matchExpressions": [expected]}));
    let [rule] = webhook["rules"].as_array().unwrap().as_slice() else { panic!("{webhook}") };
    assert_eq!(rule["operations"], json!(["CREATE", "UPDATE"]));
    assert_eq!(rule["resources"], json!([kind.plural()]), "no subresources");
    assert_eq!(rule["apiGroups"], json!([kind.group()]));
    assert_eq!(rule["scope"], "Namespaced");
    let served: Vec<&str> = kind.versions().filter(|version| *version != "v0").collect();
    assert_eq!(rule["apiVersions"], json!(served), "versions that as served, but no other");
}

#[test]
fn webhook_names_differ_by_version() {
    let kind = embedded("materialize");
    let mut names: Vec<String> = Vec::new();
    let versions = ["2.16.0", "2.17.0", "2.17.0-rc.1", "2.17.0-RC.1", "2.17.0-rc-1", "2.17", "v2.17"];
    for controller in versions {
        for document in webhooks(&kind, &version(controller), Selection::Labelled, &service(Trust::SystemRoots)) {
            names.push(format!("{} {}", document["kind"], document["metadata"]["name"]));
            assert!(document["webhooks"][0]["clientConfig"].get("caBundle").is_none());
            assert!(document["metadata"].get("annotations").is_none());
        }
    }
    for document in webhooks(&kind, &version("2.16.0"), Selection::Unlabelled, &service(Trust::SystemRoots)) {
        names.push(format!("{} {}", document["kind"], document["metadata"]["name"]));
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "{names:?}");
}

#[test]
fn urls_are_joined_with_one_slash() {
    for url in ["https://{version}.hooks.example:9443", "https://{version}.hooks.example:9443/"] {
        let address = Address::Url(url.parse().unwrap());
        let client = ClientConfig { address, trust: Trust::SystemRoots };
        let kind = embedded("materialize");
        let documents = webhooks(&kind, &version("2.17.0"), Selection::Labelled, &client);
        let config = &documents[0]["webhooks"][0]["clientConfig"];
        assert_eq!(config, &json!({"url": "https://2-17-0.hooks.example:9443/mutate"}));
    }
}

#[test]
fn guard_is_policy_and_binding() {
    for kind in kinds() {
        for (mode, action) in [(GuardMode::Audit, "Audit"), (GuardMode::Deny, "Deny"), (GuardMode::Warn, "Warn")] {
            let [policy, binding] = guard(&kind, &[version("2.16.0"), version("2.17.0-RC.1")], mode);
            let name = policy["metadata"]["name"].as_str().unwrap();
            assert!(is_subdomain(name));
            assert_eq!(policy["kind"], "ValidatingAdmissionPolicy");
            assert_eq!(binding["kind"], "ValidatingAdmissionPolicyBinding");
            assert_eq!(binding["spec"], json!({"policyName": name, "validationActions": [action]}));
            let rule = &policy["spec"]["matchConstraints"]["resourceRules"][0];
            assert_eq!(rule["operations"], json!(["CREATE", "UPDATE"]));
            assert_eq!(rule["resources"], json!([kind.plural()]));
            let variables = policy["spec"]["variables"].as_array().unwrap();
            let mut known: Vec<String> = Vec::new();
            for variable in variables {
                let expression = variable["expression"].as_str().unwrap();
                expression_is_sane(expression, &known);
                known.push(variable["name"].as_str().unwrap().to_owned());
            }
            for validation in policy["spec"]["validations"].as_array().unwrap() {
                expression_is_sane(validation["expression"].as_str().unwrap(), &known);
                if let Some(expression) = validation["messageExpression"].as_str() {
                    expression_is_sane(expression, &known);
                }
                assert_eq!(validation["reason"], "Invalid");
                let message = validation["message"].as_str().unwrap();
                assert!(message.contains("2.16.0, 2.17.0-RC.1") && !message.contains('\n'));
            }
            // An empty label differs from an absent label: no server would be responsible.
            assert!(known.iter().any(|name| name == "labelled"), "{known:?}");
        }
    }
}

/// Brackets and quotes are balanced, only known variables are used, and there is no line break.
pub(crate) fn expression_is_sane(expression: &str, known: &[String]) {
    let (mut depth, mut quote, mut escaped) = (Vec::new(), None, false);
    for c in expression.chars() {
        assert!(!c.is_control(), "{expression}");
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[') => depth.push(c),
            (None, ')') => assert_eq!(depth.pop(), Some('('), "{expression}"),
            (None, ']') => assert_eq!(depth.pop(), Some('['), "{expression}"),
            (None, _) => {}
        }
    }
    assert!(depth.is_empty() && quote.is_none(), "{expression}");
    for (at, _) in expression.match_indices("variables.") {
        let name: String =
            expression[at + "variables.".len()..].chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        assert!(known.contains(&name), "{name} in {expression}");
    }
}

#[test]
fn policy_covers_its_version_only() {
    for kind in kinds() {
        for storage in kind.versions() {
            let [policy, binding] = incomplete(&kind, storage);
            let name = policy["metadata"]["name"].as_str().unwrap();
            assert!(is_subdomain(name) && name.contains(storage), "{name}");
            assert_eq!(binding["spec"], json!({"policyName": name, "validationActions": ["Deny"]}));
            let constraints = &policy["spec"]["matchConstraints"];
            assert_eq!(constraints["matchPolicy"], "Equivalent");
            assert_eq!(constraints["resourceRules"][0]["apiVersions"], json!([storage]));
            let plural = kind.plural();
            assert_eq!(constraints["resourceRules"][0]["resources"], json!([plural, format!("{plural}/status")]));
        }
    }
}
