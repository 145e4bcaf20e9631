//! The paths of a CRD outside of its schemas: printer columns, selectable fields and the scale subresource.
//!
//! The API server does not check the paths of columns and of scale against the schema. If the field has another name in
//! a version, the column is empty, and scale reads 0.

use serde_json::Value;

use super::path::Path;
use super::schema::Schema;

/// Returns a message for each path of a `CustomResourceDefinition` that names a field absent from the schema of its
/// version. Each message contains the version, the path and the nearest name. Paths into the metadata and paths behind
/// an unsupported filter are not checked.
#[must_use]
pub fn missing_crd_paths(crd: &Value) -> Vec<String> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    versions.into_iter().flatten().flat_map(missing_in).collect()
}

fn missing_in(version: &Value) -> Vec<String> {
    let Some(schema) = version.pointer("/schema/openAPIV3Schema").map(Schema::read) else { return Vec::new() };
    let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
    let missing = paths(version).into_iter().filter_map(|(subject, path)| {
        let missing = missing_name(&schema, path)?;
        Some(format!("{name}: {subject} reads {path}, and {name} has no such field: {missing}"))
    });
    missing.collect()
}

/// Returns the paths of a version, each with its subject.
fn paths(version: &Value) -> Vec<(String, &str)> {
    let list = |key: &str| version.get(key).and_then(Value::as_array).into_iter().flatten();
    let mut found = Vec::new();
    for column in list("additionalPrinterColumns") {
        let name = column.get("name").and_then(Value::as_str).unwrap_or_default();
        let subject = format!("printer column {name:?}");
        found.extend(column.get("jsonPath").and_then(Value::as_str).map(|path| (subject, path)));
    }
    for field in list("selectableFields") {
        found.extend(field.get("jsonPath").and_then(Value::as_str).map(|path| ("selectable field".to_owned(), path)));
    }
    let scale = version.pointer("/subresources/scale");
    for key in ["specReplicasPath", "statusReplicasPath", "labelSelectorPath"] {
        let path = scale.and_then(|scale| scale.get(key)).and_then(Value::as_str);
        found.extend(path.map(|path| (format!("scale.{key}"), path)));
    }
    found
}

/// Describes the first name of a JSON path that the schema does not contain.
fn missing_name(root: &Schema, text: &str) -> Option<String> {
    let mut at = root;
    let mut path = Path::default();
    for (depth, part) in parts(text)?.into_iter().enumerate() {
        let PathPart::Name(name) = part else {
            at = at.each.as_deref()?;
            continue;
        };
        let is_head = matches!(&*name, "metadata" | "apiVersion" | "kind");
        if is_head && (depth == 0 || at.embedded) {
            return None;
        }
        path = path.join(&name);
        match at.member(&name) {
            Some(inner) => at = inner,
            None if at.preserve || at.kind.is_none() => return None,
            None => return Some(format!("no {name:?} at {path}{}", at.did_you_mean(&name))),
        }
    }
    None
}

/// A part of a JSON path.
enum PathPart {
    Name(String),
    /// An item of a list, by its index or by a filter.
    Item,
}

/// Parses a JSON path of a CRD: names, quoted names, indices and filters. `None` for any other form.
fn parts(text: &str) -> Option<Vec<PathPart>> {
    let mut rest = text.trim_start_matches('{').trim_end_matches('}').trim_start_matches('$');
    let mut parts = Vec::new();
    while !rest.is_empty() {
        if let Some(bracket) = rest.strip_prefix('[') {
            let end = bracket.find(']')?;
            let (inside, tail) = bracket.split_at(end);
            let quoted = inside.strip_prefix(['\'', '"']).and_then(|inside| inside.strip_suffix(['\'', '"']));
            parts.push(quoted.map_or(PathPart::Item, |name| PathPart::Name(name.to_owned())));
            rest = tail.strip_prefix(']')?;
            continue;
        }
        rest = rest.strip_prefix('.')?;
        let mut name = String::new();
        let mut letters = rest.char_indices();
        let mut end = rest.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => name.push(letters.next()?.1),
                '.' | '[' => {
                    end = at;
                    break;
                }
                letter => name.push(letter),
            }
        }
        // Two dots match at any depth.
        if name.is_empty() {
            return None;
        }
        parts.push(PathPart::Name(name));
        rest = rest.get(end..)?;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn missing(path: &str) -> Vec<String> {
        let condition =
            json!({"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}});
        let spec = json!({"type": "object", "properties": {"teamName": {"type": "string"}, "a.b": {"type": "string"}}});
        let status = json!({"type": "object", "properties": {"conditions": {"type": "array", "items": condition}}});
        let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
        let column = json!({"name": "Team", "type": "string", "jsonPath": path});
        let version = json!({
            "name": "v2", "additionalPrinterColumns": [column], "schema": {"openAPIV3Schema": schema},
        });
        missing_crd_paths(&json!({"spec": {"versions": [version]}}))
    }

    #[test]
    fn column_of_missing_field_is_found() {
        let found = missing(".spec.teamname");
        let why = "no \"teamname\" at spec.teamname, did you mean \"teamName\"?";
        assert_eq!(
            found,
            [format!("v2: printer column \"Team\" reads .spec.teamname, and v2 has no such field: {why}")]
        );
        assert_eq!(missing(r#".status.conditions[?(@.type=="Ready")].state"#).len(), 1);
    }

    #[test]
    fn column_of_present_field_is_fine() {
        for path in [
            ".spec.teamName",
            "{.spec.teamName}",
            r".spec.a\.b",
            ".spec['a.b']",
            ".metadata.creationTimestamp",
            r#".status.conditions[?(@.type=="Ready")].status"#,
            ".status.conditions[-1:].type",
            "..anything",
        ] {
            assert_eq!(missing(path), [""; 0], "{path}");
        }
    }
}
