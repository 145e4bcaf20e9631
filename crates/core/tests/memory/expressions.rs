//! Kinds whose newer field has a value for each part of an older text.

use pointsman_core::definition::Kind;
use serde_json::{Value, json};

/// Parts with a separator.
pub(crate) fn separated() -> Kind {
    kind("value.split(\",\").map(part, part + \"!\")", "value.join(\",\")")
}

/// A list in YAML.
pub(crate) fn in_yaml() -> Kind {
    kind("fromYaml(value)", "toYaml(value)")
}

/// A list in JSON.
pub(crate) fn in_json() -> Kind {
    kind("fromJson(value)", "toJson(value)")
}

fn kind(up: &str, down: &str) -> Kind {
    let version = |name: &str, field: &Value| {
        let spec = json!({"type": "object", "properties": {"parts": field}});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
        json!({"name": name, "served": true, "storage": name == "v1", "schema": schema})
    };
    let text = json!({"type": "string"});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "texts.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Text", "plural": "texts"},
            "versions": [version("v1", &text), version("v2", &json!({"type": "array", "items": text}))]},
    });
    let compute = json!({"from": "spec.parts", "to": "spec.parts", "up": up, "down": down});
    let definition = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "KindDefinition", "crd": "texts.crd.yaml",
        "steps": [{"from": "v1", "to": "v2", "operations": [{"compute": compute}]}],
    });
    Kind::from_crd(&definition.to_string(), &crd.to_string()).unwrap()
}
