//! From the text of a definition and of its CRD to a [`Kind`], or to everything that is wrong with it.

use std::sync::Arc;

use serde_json::Value;
use serde_saphyr::Spanned;

use super::admission::{self, Admission};
use super::compile::Compiler;
use super::document::{self, Document};
use super::unreadable;
use super::{API_VERSION, BadDefinition, KIND, Kind, Path, Problem, Rollout, Schema, Version};
use crate::json::Json;

/// Where problems are collected, so that one run tells all of them.
pub(super) struct Problems {
    file: String,
    list: Vec<Problem>,
}

impl Problems {
    pub(super) fn add(&mut self, line: u64, message: impl Into<String>) {
        self.list.push(Problem {
            file: self.file.clone(),
            line,
            message: message.into(),
        });
    }

    fn into_result<T>(mut self, value: Option<T>) -> Result<T, BadDefinition> {
        match value {
            Some(value) if self.list.is_empty() => Ok(value),
            _ => {
                self.list.sort_by_key(|problem| problem.line);
                self.list.dedup();
                Err(BadDefinition {
                    problems: self.list,
                })
            }
        }
    }
}

/// The line something stands in.
pub(super) fn line<T>(spanned: &Spanned<T>) -> u64 {
    spanned.referenced.line()
}

pub(super) fn load(
    file: &str,
    text: &str,
    read: &mut dyn FnMut(&str) -> std::io::Result<String>,
) -> Result<Kind, BadDefinition> {
    let mut problems = Problems {
        file: file.to_owned(),
        list: Vec::new(),
    };
    let kind = compile(text, read, &mut problems);
    problems.into_result(kind)
}

fn compile(
    text: &str,
    read: &mut dyn FnMut(&str) -> std::io::Result<String>,
    problems: &mut Problems,
) -> Option<Kind> {
    let document: Document = match serde_saphyr::from_str(text) {
        Ok(document) => document,
        Err(error) => {
            let (line, message) = unreadable::told(text, &error);
            problems.add(line, message);
            return None;
        }
    };
    for (what, found, wanted) in [
        ("apiVersion", &document.api_version, API_VERSION),
        ("kind", &document.kind, KIND),
    ] {
        if found.value != wanted {
            problems.add(
                line(found),
                format!("{what} is {:?}, this build reads {wanted:?}", found.value),
            );
        }
    }
    let crd = crd(&document.crd, read, problems)?;
    let versions = order(
        versions(&crd, line(&document.crd), problems)?,
        &document.steps,
        problems,
    )?;
    let rollout = match &document.rollout {
        Some(rollout) => Some(self::rollout(rollout, &versions, problems)?),
        None => None,
    };
    let mut steps = Vec::new();
    for (index, (step, pair)) in document.steps.iter().zip(versions.windows(2)).enumerate() {
        let [older, newer] = pair else { continue };
        let status = match (&document.rollout, &rollout) {
            (Some(written), Some(rollout)) if rollout.at == index + 1 => written
                .value
                .status
                .as_ref()
                .map(|status| (status, line(written))),
            _ => None,
        };
        steps.push(
            Compiler {
                problems,
                older: &older.schema,
                newer: &newer.schema,
            }
            .step(step, older, newer, status),
        );
    }
    if let (Some(written), Some(rollout)) = (&document.rollout, &rollout) {
        if rollout.at == 0 && written.value.status.is_some() {
            problems.add(
                line(written),
                "rollout.status: no step leads to the version that is hashed",
            );
        }
    }
    let group = crd
        .pointer("/spec/group")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let admission = match &document.admission {
        Some(written) => admission::compile(written, group, &versions, problems)?,
        None => Admission::none(group),
    };
    let text = |pointer: &str| {
        crd.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let kind = text("/spec/names/kind");
    Some(Kind {
        name: document.name.unwrap_or_else(|| kind.to_lowercase()).into(),
        group: text("/spec/group"),
        plural: text("/spec/names/plural"),
        kind,
        versions,
        steps,
        rollout,
        admission,
        crd,
    })
}

fn crd(
    file: &Spanned<String>,
    read: &mut dyn FnMut(&str) -> std::io::Result<String>,
    problems: &mut Problems,
) -> Option<Value> {
    let text = match read(&file.value) {
        Ok(text) => text,
        Err(error) => {
            problems.add(
                line(file),
                format!("crd: cannot read {:?}: {error}", file.value),
            );
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
        problems.add(
            line(file),
            format!("crd: {} is not a CustomResourceDefinition", file.value),
        );
        return None;
    }
    let mut complete = true;
    for pointer in ["/spec/group", "/spec/names/kind", "/spec/names/plural"] {
        if crd
            .pointer(pointer)
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            complete = false;
            problems.add(
                line(file),
                format!("crd: {}: no {}", file.value, pointer.replace('/', ".")),
            );
        }
    }
    complete.then_some(crd)
}

fn versions(crd: &Value, line: u64, problems: &mut Problems) -> Option<Vec<Version>> {
    let group = crd
        .pointer("/spec/group")
        .and_then(Value::as_str)
        .unwrap_or_default();
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
        let flag = |key: &str| {
            version
                .get(key)
                .and_then(Value::as_bool)
                .unwrap_or_default()
        };
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
fn order(
    mut versions: Vec<Version>,
    steps: &[Spanned<document::Step>],
    problems: &mut Problems,
) -> Option<Vec<Version>> {
    let known = versions
        .iter()
        .map(|version| version.name.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    let mut ordered: Vec<Version> = Vec::new();
    let mut good = true;
    let mut take = |name: &Spanned<String>, ordered: &mut Vec<Version>, problems: &mut Problems| {
        match versions
            .iter()
            .position(|version| version.name.as_ref() == name.value)
        {
            Some(index) => ordered.push(versions.remove(index)),
            None if ordered
                .iter()
                .any(|version| version.name.as_ref() == name.value) =>
            {
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
        } else if ordered
            .last()
            .is_some_and(|last| last.name.as_ref() != step.value.from.value)
        {
            let last = ordered
                .last()
                .map(|last| last.name.to_string())
                .unwrap_or_default();
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

fn rollout(
    written: &Spanned<document::Rollout>,
    versions: &[Version],
    problems: &mut Problems,
) -> Option<Rollout> {
    let at_line = line(written);
    let hash = &written.value.hash;
    let Some((at, version)) = versions
        .iter()
        .enumerate()
        .find(|(_, version)| version.name.as_ref() == hash.at)
    else {
        let known = versions
            .iter()
            .map(|version| version.name.to_string())
            .collect::<Vec<_>>()
            .join(", ");
        problems.add(
            at_line,
            format!(
                "rollout.hash.at: the CRD has no version {:?}; it has {known}",
                hash.at
            ),
        );
        return None;
    };
    let Some(schema) = version.schema.properties.get(&hash.of) else {
        problems.add(
            at_line,
            format!(
                "rollout.hash.of: {} has no field {:?}{}",
                hash.at,
                hash.of,
                hint(&version.schema, &hash.of)
            ),
        );
        return None;
    };
    let mut canonical = schema.canonical();
    for text in &hash.except {
        match hashed(&text.value, hash, &version.schema, problems, line(text)) {
            Some(path) => {
                let mut place = &mut canonical;
                for name in path.names().iter().skip(1) {
                    place = place.members.entry(name.to_string()).or_default();
                }
                place.skip = true;
            }
            None => problems.add(
                line(text),
                format!(
                    "rollout.hash.except: {} is not a field of {} at {}{}",
                    text.value,
                    hash.of,
                    hash.at,
                    near(&version.schema, &text.value)
                ),
            ),
        }
    }
    let mut defaults = Vec::new();
    for (text, value) in &hash.defaults {
        let path =
            hashed(text, hash, &version.schema, problems, at_line).filter(|path| path.len() == 2);
        let Some((path, place)) = path
            .and_then(|path| Some((version.schema.at(&path)?, path)))
            .map(|(s, p)| (p, s))
        else {
            problems.add(
                at_line,
                format!(
                    "rollout.hash.defaults: {text} is not a field directly in {} at {}{}",
                    hash.of,
                    hash.at,
                    near(&version.schema, text)
                ),
            );
            continue;
        };
        let value = value.to_string();
        if !place.admits(&Json::borrowed(&value)) {
            problems.add(
                at_line,
                format!(
                    "rollout.hash.defaults: {text} cannot be {value} at {}",
                    hash.at
                ),
            );
        }
        if let (Some(name), Some(value)) = (path.names().last(), place.canonical().text(&value)) {
            defaults.push((name.to_string(), value));
        }
    }
    defaults.sort();
    Some(Rollout {
        of: hash.of.clone(),
        at,
        defaults,
        force: hash.force.clone(),
        canonical,
    })
}

/// The path of a hashed field, if the schema has it.
fn hashed(
    text: &str,
    hash: &document::Hash,
    schema: &Schema,
    problems: &mut Problems,
    line: u64,
) -> Option<Path> {
    match Path::parse(text) {
        Ok(path) => {
            let inside =
                path.len() > 1 && path.names().first().is_some_and(|name| **name == *hash.of);
            (inside && schema.at(&path).is_some()).then_some(path)
        }
        Err(error) => {
            problems.add(line, error);
            None
        }
    }
}

/// [`hint`] for the first name of a path that is not there.
fn near(schema: &Schema, text: &str) -> String {
    let Ok(path) = Path::parse(text) else {
        return String::new();
    };
    let mut here = schema;
    for name in path.names() {
        match here.properties.get(name.as_ref()) {
            Some(next) => here = next,
            None => return hint(here, name),
        }
    }
    String::new()
}

/// `, did you mean "x"?` where something near exists.
pub(super) fn hint(schema: &Schema, name: &str) -> String {
    schema
        .nearest(name)
        .map(|near| format!(", did you mean {near:?}?"))
        .unwrap_or_default()
}
