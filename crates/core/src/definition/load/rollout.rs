//! The `rollout` block of a definition, checked against the version that is hashed.

use serde_saphyr::Spanned;

use super::{Problems, hint, line};
use crate::definition::document;
use crate::definition::{Path, Rollout, Schema, Version};
use crate::json::Json;

pub(super) fn compile(
    written: &Spanned<document::Rollout>,
    versions: &[Version],
    problems: &mut Problems,
) -> Option<Rollout> {
    let at_line = line(written);
    let hash = &written.value.hash;
    let Some((at, version)) =
        versions.iter().enumerate().find(|(_, version)| version.name.as_ref() == hash.at)
    else {
        let known =
            versions.iter().map(|version| version.name.to_string()).collect::<Vec<_>>().join(", ");
        problems.add(
            at_line,
            format!("rollout.hash.at: the CRD has no version {:?}; it has {known}", hash.at),
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
        let Some((path, place)) =
            path.and_then(|path| Some((version.schema.at(&path)?, path))).map(|(s, p)| (p, s))
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
                format!("rollout.hash.defaults: {text} cannot be {value} at {}", hash.at),
            );
        }
        if let (Some(name), Some(value)) = (path.names().last(), place.canonical().text(&value)) {
            defaults.push((name.to_string(), value));
        }
    }
    defaults.sort();
    Some(Rollout { of: hash.of.clone(), at, defaults, force: hash.force.clone(), canonical })
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
