//! A kind that adds much to small objects: defaults of the newer versions, in items of lists and maps, and in absent
//! objects.

use pointsman_core::definition::Kind;
use serde_json::{Map, Value, json};

/// Three versions: the items of each version have five more fields than those before, all with defaults.
pub(crate) fn kind() -> Kind {
    let versions: Vec<Value> = (0_usize..3).map(|version| {
        json!({"name": format!("v{}", version + 1), "served": true, "storage": version == 0, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {
                "list": {"type": "array", "items": item(version, true)},
                "map": {"type": "object", "additionalProperties": item(version, false)},
            }}},
        }}})
    }).collect();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "givers.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Giver", "plural": "givers"},
            "versions": versions},
    });
    let step = |version: usize| {
        let adds: Vec<Value> = added(version).map(|name| json!({"add": name})).collect();
        let mut inner = vec![json!({"each": {"in": "inner", "operations": adds}})];
        inner.extend(adds.iter().cloned());
        json!({
            "from": format!("v{version}"), "to": format!("v{}", version + 1),
            "operations": [
                {"each": {"in": "spec.list", "operations": inner}},
                {"each": {"in": "spec.map", "operations": adds}},
            ],
        })
    };
    let definition = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "KindDefinition", "crd": "givers.crd.yaml",
        "steps": [step(1), step(2)],
    });
    Kind::from_crd(&definition.to_string(), &crd.to_string()).unwrap()
}

/// The names of the fields that items have in addition to the previous version.
fn added(version: usize) -> impl Iterator<Item = String> {
    (0..5).map(move |field| format!("givenByVersion{version}Number{field}"))
}

fn item(version: usize, outer: bool) -> Value {
    let names = (1..=version).flat_map(added);
    let field = |name| (name, json!({"type": "string", "default": "a value that was not there before"}));
    let mut fields: Map<String, Value> = names.map(field).collect();
    fields.insert("own".to_owned(), json!({"type": "string"}));
    if outer {
        fields.insert("inner".to_owned(), json!({"type": "array", "items": item(version, false)}));
    }
    json!({"type": "object", "properties": fields})
}
