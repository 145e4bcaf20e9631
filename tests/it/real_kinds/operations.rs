//! The operations of a definition, to compare two definitions of one kind.

use std::collections::BTreeSet;

use serde_json::Value as Json;

/// Lists the operations of a definition: the step, the lists around each, and the operation. Values of `drop`, `add`
/// and `fill` are left out, because any valid value is right. `rename` and `move` are equal.
pub(crate) fn operations(definition: &str) -> BTreeSet<String> {
    let definition: Json = serde_saphyr::from_str(definition).unwrap_or_default();
    let steps = definition["steps"].as_array().cloned().unwrap_or_default();
    let mut found = BTreeSet::new();
    for step in &steps {
        collect(step["to"].as_str().unwrap_or_default(), &step["operations"], &mut found);
    }
    found
}

fn collect(around: &str, operations: &Json, found: &mut BTreeSet<String>) {
    for operation in operations.as_array().into_iter().flatten() {
        for (name, argument) in operation.as_object().into_iter().flatten() {
            let text = |key: &str| argument[key].as_str();
            let place =
                match (argument.as_str().or_else(|| text("field")).or_else(|| text("in")), text("from"), text("to")) {
                    (Some(field), ..) => field.to_owned(),
                    (None, Some(from), Some(to)) => format!("{from} -> {to}"),
                    _ => argument.to_string(),
                };
            let name = if name == "rename" { "move" } else { name };
            let nested = ["operations", "otherwise"].map(|key| &argument[key]);
            if nested.iter().any(|nested| nested.is_array()) {
                nested.iter().for_each(|nested| collect(&format!("{around} {name} {place}:"), nested, found));
            } else {
                let more = ["as", "map", "separator", "into"].iter().filter_map(|key| argument.get(key));
                let more: String = more.map(|value| format!(" {value}")).collect();
                found.insert(format!("{around} {name} {place}{more}"));
            }
        }
    }
}
