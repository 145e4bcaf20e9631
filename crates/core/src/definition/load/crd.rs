//! The CRD of a definition: its identity, its versions, and their order.

use std::sync::Arc;

use serde_json::Value;
use serde_saphyr::Spanned;

use super::{Problems, line};
use crate::definition::{Schema, Version};
use crate::definition::{document, unreadable};

pub(super) fn read(
    file: &Spanned<String>,
    read: &mut dyn FnMut(&str) -> std::io::Result<String>,
    problems: &mut Problems,
) -> Option<Value> {
    let text = match read(&file.value) {
        Ok(text) => text,
        Err(error) => {
            problems.add(line(file), format!("crd: cannot read {:?}: {error}", file.value));
            return None;
        }
    };
    let crd: Value = match serde_saphyr::from_str(&text) {
        Ok(crd) => crd,
        Err(error) => {
            let (at, message) = unreadable::plain(&error);
            problems.add(line(file), format!("crd: {}:{at}: {message}", file.value));
            return None;
        }
    };
    if crd.get("kind").and_then(Value::as_str) != Some("CustomResourceDefinition") {
        problems.add(line(file), format!("crd: {} is not a CustomResourceDefinition", file.value));
        return None;
    }
    let mut complete = true;
    for pointer in ["/spec/group", "/spec/names/kind", "/spec/names/plural"] {
        if crd.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            complete = false;
            problems
                .add(line(file), format!("crd: {}: no {}", file.value, pointer.replace('/', ".")));
        }
    }
    complete.then_some(crd)
}

pub(super) fn versions(crd: &Value, line: u64, problems: &mut Problems) -> Option<Vec<Version>> {
    let group = crd.pointer("/spec/group").and_then(Value::as_str).unwrap_or_default();
    let list = crd
        .pointer("/spec/versions")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut versions = Vec::new();
    for version in list {
        let Some(name) = version.get("name").and_then(Value::as_str) else {
            problems.add(line, "crd: a version without a name");
            return None;
        };
        let Some(schema) = version.pointer("/schema/openAPIV3Schema") else {
            problems.add(
                line,
                format!(
                    "crd: version {name} has no schema.openAPIV3Schema to check the definition by"
                ),
            );
            return None;
        };
        let flag = |key: &str| version.get(key).and_then(Value::as_bool).unwrap_or_default();
        versions.push(Version {
            name: Arc::from(name),
            api_version: format!("{group}/{name}"),
            schema: Schema::read(schema),
            storage: flag("storage"),
            served: flag("served"),
        });
    }
    if versions.iter().filter(|version| version.storage).count() != 1 {
        problems.add(line, "crd: exactly one version must have storage: true");
        return None;
    }
    Some(versions)
}

/// The versions in the order of the steps. Every version must be reached.
pub(super) fn order(
    mut versions: Vec<Version>,
    steps: &[Spanned<document::Step>],
    problems: &mut Problems,
) -> Option<Vec<Version>> {
    let known =
        versions.iter().map(|version| version.name.to_string()).collect::<Vec<_>>().join(", ");
    let mut ordered: Vec<Version> = Vec::new();
    let mut good = true;
    let mut take = |name: &Spanned<String>, ordered: &mut Vec<Version>, problems: &mut Problems| {
        match versions.iter().position(|version| version.name.as_ref() == name.value) {
            Some(index) => ordered.push(versions.remove(index)),
            None if ordered.iter().any(|version| version.name.as_ref() == name.value) => {
                good = false;
                problems.add(
                    line(name),
                    format!(
                        "version {:?} is reached twice: steps go from oldest to newest",
                        name.value
                    ),
                );
            }
            None => {
                good = false;
                problems.add(
                    line(name),
                    format!("the CRD has no version {:?}; it has {known}", name.value),
                );
            }
        }
    };
    for (index, step) in steps.iter().enumerate() {
        if index == 0 {
            take(&step.value.from, &mut ordered, problems);
        } else if ordered.last().is_some_and(|last| last.name.as_ref() != step.value.from.value) {
            let last = ordered.last().map(|last| last.name.to_string()).unwrap_or_default();
            problems.add(
                line(&step.value.from),
                format!(
                    "this step starts at {:?}, the one before ends at {last:?}",
                    step.value.from.value
                ),
            );
            return None;
        }
        take(&step.value.to, &mut ordered, problems);
    }
    if !good {
        return None;
    }
    if steps.is_empty() && versions.len() == 1 {
        ordered.append(&mut versions);
    }
    if let Some(left) = versions.first() {
        problems.add(0, format!("no step leads to version {:?} of the CRD: write one, with no operations if nothing changed", left.name));
        return None;
    }
    Some(ordered)
}
