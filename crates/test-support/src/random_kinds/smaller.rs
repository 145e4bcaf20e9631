//! Shrinks a draft that shows a problem.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Schema};

use super::draft::Draft;
use pointsman_core::{pointer_names, pointer_token};

/// Removes versions, names and keywords while the draft still shows the problem.
#[must_use]
pub fn smallest(mut draft: Draft, shows: &mut dyn FnMut(&Draft) -> bool) -> Draft {
    while let Some(smaller) = candidates(&draft).into_iter().find(|candidate| shows(candidate)) {
        draft = smaller;
    }
    draft
}

fn candidates(draft: &Draft) -> Vec<Draft> {
    let mut all = Vec::new();
    for at in 0..list(&draft.definition, "/steps").len() {
        all.extend(without_version(draft, at, 0));
        all.extend(without_version(draft, at, 1));
    }
    let mut names = BTreeSet::new();
    collect_names(&draft.crd, &mut names);
    for name in &names {
        let mut smaller = draft.clone();
        forget(&mut smaller.crd, name);
        forget(&mut smaller.definition, name);
        all.push(smaller);
    }
    let mut operations = Vec::new();
    collect_operations(&draft.definition, &mut operations);
    for names in &operations {
        let mut smaller = draft.clone();
        for name in names {
            forget(&mut smaller.crd, name);
            forget(&mut smaller.definition, name);
        }
        all.push(smaller);
    }
    let mut places = Vec::new();
    collect_removable(&draft.crd, String::new(), &mut places);
    for place in &places {
        let everywhere: Vec<String> =
            (0..list(&draft.crd, "/spec/versions").len()).map(|version| in_version(place, version)).collect();
        for places in [everywhere.as_slice(), std::slice::from_ref(place)] {
            let mut smaller = draft.clone();
            for place in places {
                remove(&mut smaller.crd, place);
            }
            all.push(smaller);
        }
    }
    let mut places = Vec::new();
    collect_removable(&draft.definition, String::new(), &mut places);
    for place in &places {
        let mut smaller = draft.clone();
        remove(&mut smaller.definition, place);
        all.push(smaller);
    }
    all.iter_mut().for_each(|smaller| tidy(&mut smaller.crd));
    all.retain(|smaller| smaller != draft);
    all
}

/// The last names of the places of each operation.
fn collect_operations(value: &Schema, found: &mut Vec<Vec<String>>) {
    match value {
        Schema::Object(members) => {
            for (key, inner) in members {
                if let ("operations", Schema::Array(operations)) = (key.as_str(), inner) {
                    found.extend(operations.iter().map(last_names));
                }
                collect_operations(inner, found);
            }
        }
        Schema::Array(elements) => elements.iter().for_each(|one| collect_operations(one, found)),
        _ => {}
    }
}

fn last_names(operation: &Schema) -> Vec<String> {
    let Some((_, body)) = operation.as_object().and_then(|members| members.iter().next()) else {
        return Vec::new();
    };
    let into = list(body, "/into").iter().filter_map(Schema::as_str);
    let named = ["from", "to", "field", "in"];
    let named = named.iter().filter_map(|key| body.get(*key).and_then(Schema::as_str));
    let places = body.as_str().into_iter().chain(into).chain(named);
    let last = |place: &str| match place.strip_suffix("\"]").and_then(|p| p.rsplit_once("[\"")) {
        Some((_, quoted)) => quoted.to_owned(),
        None => place.rsplit('.').next().unwrap_or(place).to_owned(),
    };
    let top = |name: &String| matches!(name.as_str(), "spec" | "status" | "");
    places.map(last).filter(|name| !top(name)).collect()
}

/// Removes absent properties from `required`.
fn tidy(schema: &mut Schema) {
    match schema {
        Schema::Object(members) => {
            let names: Vec<String> = match members.get("properties").and_then(Schema::as_object) {
                Some(properties) => properties.keys().cloned().collect(),
                None => Vec::new(),
            };
            if let Some(required) = members.get_mut("required").and_then(Schema::as_array_mut) {
                let known = |name: &str| names.iter().any(|other| other == name);
                required.retain(|name| name.as_str().is_some_and(known));
                if required.is_empty() {
                    members.remove("required");
                }
            }
            members.values_mut().for_each(tidy);
        }
        Schema::Array(elements) => elements.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn list<'s>(value: &'s Schema, pointer: &str) -> &'s [Schema] {
    value.pointer(pointer).and_then(Schema::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Removes the oldest or the newest version.
fn without_version(draft: &Draft, step: usize, end: usize) -> Option<Draft> {
    let steps = list(&draft.definition, "/steps").len();
    if steps < 2 || step != if end == 0 { 0 } else { steps - 1 } {
        return None;
    }
    let mut smaller = draft.clone();
    smaller.definition.pointer_mut("/steps")?.as_array_mut()?.remove(step);
    let versions = smaller.crd.pointer_mut("/spec/versions")?.as_array_mut()?;
    let removed_version = versions.remove(step + end);
    if removed_version.get("storage") == Some(&Schema::Bool(true)) {
        versions.last_mut()?.as_object_mut()?.insert("storage".to_owned(), Schema::Bool(true));
    }
    Some(smaller)
}

/// The same place in another version.
fn in_version(place: &str, version: usize) -> String {
    let rest = place.strip_prefix("/spec/versions/").and_then(|rest| rest.split_once('/'));
    rest.map_or_else(String::new, |(_, rest)| format!("/spec/versions/{version}/{rest}"))
}

fn collect_names(value: &Schema, names: &mut BTreeSet<String>) {
    if let Some(properties) = value.get("properties").and_then(Schema::as_object) {
        names.extend(properties.keys().cloned());
    }
    match value {
        Schema::Object(members) => members.values().for_each(|inner| collect_names(inner, names)),
        Schema::Array(elements) => elements.iter().for_each(|inner| collect_names(inner, names)),
        _ => {}
    }
}

/// Removes every property of a name, and every operation with the name.
fn forget(value: &mut Schema, name: &str) {
    match value {
        Schema::Object(members) => {
            if let Some(properties) = members.get_mut("properties").and_then(Schema::as_object_mut)
                && !properties.contains_key("apiVersion")
            {
                properties.remove(name);
            }
            if let Some(required) = members.get_mut("required").and_then(Schema::as_array_mut) {
                required.retain(|other| other != name);
            }
            members.values_mut().for_each(|inner| forget(inner, name));
        }
        Schema::Array(elements) => {
            elements.retain(|element| !element.is_object() || !names_path(element, name));
            elements.iter_mut().for_each(|inner| forget(inner, name));
        }
        _ => {}
    }
}

/// Returns whether an operation or an `accept` entry has a path with the name. Nested operations are checked later.
fn names_path(operation: &Schema, name: &str) -> bool {
    let has =
        |path: &str| path.split(['.', '[', ']', '"']).any(|part| part == name) || path.contains(&format!("\"{name}\""));
    let members = |object: &Map<String, Schema>| {
        object.iter().any(|(key, inner)| match (key.as_str(), inner) {
            ("from" | "to" | "field" | "in" | "map" | "path" | "drop" | "add" | "type" | "wrap", inner) => {
                inner.as_str().is_some_and(has) || inner.is_object() && names_path(inner, name)
            }
            ("into", inner) => list(inner, "").iter().filter_map(Schema::as_str).any(has),
            ("operations" | "openAPIV3Schema" | "schema", _) => false,
            (_, inner) => inner.is_object() && names_path(inner, name),
        })
    };
    let named = operation.get("openAPIV3Schema").is_none() && operation.get("steps").is_none();
    // Steps and versions are no operations.
    let whole =
        operation.get("operations").is_some() && operation.get("in").is_none() || operation.get("schema").is_some();
    named && !whole && operation.as_object().is_some_and(members)
}

/// Keywords and operations that can be removed separately.
fn collect_removable(value: &Schema, at: String, places: &mut Vec<String>) {
    const KEYWORDS: [&str; 12] = [
        "default",
        "nullable",
        "enum",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "required",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "status",
        "value",
    ];
    match value {
        Schema::Object(members) => {
            for (name, inner) in members {
                let place = format!("{at}/{}", pointer_token(name));
                if KEYWORDS.contains(&name.as_str()) || at.ends_with("/properties") {
                    places.push(place.clone());
                }
                collect_removable(inner, place, places);
            }
        }
        Schema::Array(elements) => {
            for (index, inner) in elements.iter().enumerate() {
                let place = format!("{at}/{index}");
                if at.ends_with("/operations") || at.ends_with("/accept") || at.ends_with("/required") {
                    places.push(place.clone());
                }
                collect_removable(inner, place, places);
            }
        }
        _ => {}
    }
}

fn remove(value: &mut Schema, pointer: &str) {
    let (Some((holder, _)), Some(last)) = (pointer.rsplit_once('/'), pointer_names(pointer).pop()) else { return };
    match value.pointer_mut(holder) {
        Some(Schema::Object(members)) => drop(members.remove(&last)),
        Some(Schema::Array(elements)) => {
            if let Some(index) = last.parse().ok().filter(|index| *index < elements.len()) {
                elements.remove(index);
            }
        }
        _ => {}
    }
}
