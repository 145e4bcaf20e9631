//! Differences between two objects.

use crate::commands::json_tree::JsonTree;

/// The differences of an object from the expected one, one line each with the path.
pub(super) fn differences(expected: &JsonTree, found: &JsonTree) -> Vec<String> {
    let mut lines = Vec::new();
    compare(expected, found, "", &mut lines);
    lines
}

fn compare(expected: &JsonTree, found: &JsonTree, path: &str, lines: &mut Vec<String>) {
    match (expected, found) {
        (JsonTree::Object(one), JsonTree::Object(two)) => {
            let added = two.iter().map(|(name, _)| name).filter(|name| expected.get(name).is_none());
            for name in one.iter().map(|(name, _)| name).chain(added) {
                let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match (expected.get(name), found.get(name)) {
                    (Some(expected), Some(found)) => compare(expected, found, &inner, lines),
                    (Some(expected), None) => {
                        lines.push(format!("{inner}: expected {expected}, and the field is absent"))
                    }
                    (None, Some(found)) => lines.push(format!("{inner}: expected no value, and found {found}")),
                    (None, None) => {}
                }
            }
        }
        (JsonTree::Array(one), JsonTree::Array(two)) if one.len() == two.len() => {
            for (index, (expected, found)) in one.iter().zip(two).enumerate() {
                compare(expected, found, &format!("{path}[{index}]"), lines);
            }
        }
        (expected, found) if expected == found => {}
        (expected, found) => lines.push(format!("{path}: expected {expected}, and found {found}")),
    }
}

/// An object after a JSON merge patch (RFC 7396).
pub(super) fn merged(object: JsonTree, patch: &JsonTree) -> JsonTree {
    let JsonTree::Object(changes) = patch else { return patch.clone() };
    let mut members = match object {
        JsonTree::Object(members) => members,
        _ => Vec::new(),
    };
    for (name, change) in changes {
        let at = members.iter().position(|(other, _)| other == name);
        match (at, change) {
            (Some(at), JsonTree::Null) => drop(members.remove(at)),
            (None, JsonTree::Null) => {}
            (at, change) => {
                let before = at.map_or(JsonTree::Null, |at| members.remove(at).1);
                let place = at.unwrap_or(members.len());
                members.insert(place, (name.clone(), merged(before, change)));
            }
        }
    }
    JsonTree::Object(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(json: &str) -> JsonTree {
        JsonTree::from_json(json).unwrap()
    }

    #[test]
    fn differences_name_paths() {
        let expected = tree(r#"{"a": 1, "b": [{"c": "x"}], "d": true, "e": []}"#);
        let found = tree(r#"{"a": 2, "b": [{"c": "y"}], "e": [1], "f": null}"#);
        assert_eq!(
            differences(&expected, &found),
            [
                "a: expected 1, and found 2",
                "b[0].c: expected \"x\", and found \"y\"",
                "d: expected true, and the field is absent",
                "e: expected [], and found [1]",
                "f: expected no value, and found null",
            ]
        );
        assert_eq!(differences(&expected, &expected), Vec::<String>::new());
    }

    #[test]
    fn merge_patch_removes_and_sets() {
        let object = tree(r#"{"a": {"b": 1, "c": 2}, "d": 3}"#);
        let patch = tree(r#"{"a": {"b": null, "e": {"f": 4, "g": null}}, "d": [5]}"#);
        assert_eq!(merged(object, &patch), tree(r#"{"a": {"c": 2, "e": {"f": 4}}, "d": [5]}"#));
    }
}
