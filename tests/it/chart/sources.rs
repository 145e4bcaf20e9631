//! The sources of the chart, and the manifests generated from the chart.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::helm::{CHART, documents, root};
use super::pod::Pod;

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn yaml(file: &str) -> Value {
    documents(&read(file)).remove(0)
}

#[test]
fn chart_version_equals_program_version() {
    let chart = yaml(&format!("{CHART}/Chart.yaml"));
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn chart_alerts_equal_manifest_alerts() {
    assert_eq!(read(&format!("{CHART}/files/alerts.rules.yaml")), read("manifests/alerts.rules.yaml"));
}

/// The formula of docs/reference.md, with the defaults of `serve`.
#[test]
fn memory_limit_follows_formula() {
    let (connections, budget) = (2048.0, 512.0);
    let needed: f64 = (32.0 + 96.0 / 1024.0 * connections + budget) * 8.0 / 7.0;
    let values = yaml(&format!("{CHART}/values.yaml"));
    let limit = format!("{}Mi", needed.ceil());
    assert_eq!(values["resources"]["limits"]["memory"], limit);
    assert!(read("docs/reference.md").contains(&format!("which is {} MiB for the defaults", needed.ceil())));
}

/// Every key of the page and of the values file is in the schema, and the schema has `additionalProperties: false`
/// everywhere, so helm refuses unknown keys.
#[test]
fn values_schema_is_strict() {
    let schema: Value = serde_json::from_str(&read(&format!("{CHART}/values.schema.json"))).unwrap();
    let values = yaml(&format!("{CHART}/values.yaml"));
    strict("values", &schema, &values);
}

fn strict(path: &str, schema: &Value, values: &Value) {
    let known = schema["properties"].as_object().unwrap_or_else(|| panic!("{path}: no properties"));
    assert_eq!(schema["additionalProperties"], false, "{path}");
    let own = values.as_object().unwrap();
    let undocumented: Vec<&String> = known.keys().filter(|name| !own.contains_key(*name)).collect();
    let expected: &[&str] = match path {
        "values" => &["global"],
        "values.resources" => &["claims"],
        "values.certificate.issuerRef" => &["name", "kind", "group"],
        _ => &[],
    };
    assert_eq!(undocumented.len(), expected.len(), "{path}: {undocumented:?} are not in values.yaml");
    for (name, value) in own {
        let schema = known.get(name).unwrap_or_else(|| panic!("{path}.{name} is not in the schema"));
        if schema["properties"].is_object() {
            strict(&format!("{path}.{name}"), schema, value);
        } else if value.is_object() {
            // Objects of Kubernetes, and names of users.
            assert_eq!(schema["type"], "object", "{path}.{name}");
        }
    }
}

#[test]
fn plain_manifests_serve_and_terminate() {
    for folder in ["cert-manager", "secret"] {
        let documents = documents(&read(&format!("manifests/plain/{folder}/pointsman.yaml")));
        let pod = Pod::start(&documents, &BTreeMap::new());
        assert!(pod.probe("readinessProbe").starts_with("HTTP/1.1 200"), "{folder}");
        assert!(pod.probe("livenessProbe").starts_with("HTTP/1.1 200"), "{folder}");
        assert_eq!(pod.terminate(), (Some(0), true), "{folder}");
    }
}
