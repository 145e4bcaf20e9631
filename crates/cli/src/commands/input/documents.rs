//! Splits a text into documents.

use pointsman_core::definition::Problem;
use serde_json::value::RawValue;

use super::{input_object::InputObject, source::Source};
use crate::commands::{json_tree::JsonTree, yaml};

/// A document: one object, or a list of them.
pub(crate) enum Document {
    List { list: JsonTree, items: Vec<InputObject> },
    One(InputObject),
}

impl Document {
    pub(crate) fn objects(&self) -> &[InputObject] {
        match self {
            Self::List { items, .. } => items,
            Self::One(object) => std::slice::from_ref(object),
        }
    }

    pub(crate) fn into_objects(self) -> Vec<InputObject> {
        match self {
            Self::List { items, .. } => items,
            Self::One(object) => vec![object],
        }
    }
}

/// The documents of a source, possibly none, or their errors.
pub(crate) fn documents(source: &Source) -> Result<Vec<Document>, Vec<String>> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (place, json) in split(source).map_err(|message| vec![message])? {
        match document(place, json) {
            Ok(document) => good.push(document),
            Err(messages) => bad.extend(messages),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}

fn document(place: String, json: JsonTree) -> Result<Document, Vec<String>> {
    let is_list = json.get("kind").and_then(JsonTree::as_str).is_some_and(|kind| kind.ends_with("List"));
    match json.get("items") {
        Some(items) if is_any_list(&json) && !matches!(items, JsonTree::Array(_) | JsonTree::Null) => {
            Err(vec![format!("{place}: items of a List must be a list: begin each object with `- `")])
        }
        Some(JsonTree::Array(items)) if is_list => {
            let items = (1..).zip(items);
            let items = items.map(|(index, item)| InputObject::read(format!("{place}, item {index}"), item));
            let (good, bad): (Vec<_>, Vec<_>) = items.partition(Result::is_ok);
            if bad.is_empty() {
                Ok(Document::List { items: good.into_iter().flatten().collect(), list: json })
            } else {
                Err(bad.into_iter().filter_map(Result::err).collect())
            }
        }
        _ => InputObject::read(place, &json).map(Document::One).map_err(|message| vec![message]),
    }
}

/// Returns whether the document is kubectl's list of objects of any kind.
fn is_any_list(json: &JsonTree) -> bool {
    let member_is = |member: &str, text: &str| json.get(member).and_then(JsonTree::as_str) == Some(text);
    member_is("kind", "List") && member_is("apiVersion", "v1")
}

/// The values of all documents of a source.
pub(crate) fn values(source: &Source) -> Result<Vec<JsonTree>, String> {
    Ok(split(source)?.into_iter().map(|(_, json)| json).collect())
}

/// Place and value of each document that is not empty.
fn split(source: &Source) -> Result<Vec<(String, JsonTree)>, String> {
    let read = match source.text.trim_start().starts_with(['{', '[']) {
        true => json(source).or_else(|bad_json| {
            yaml(source).map_err(|bad_yaml| if is_meant_as_json(&source.text) { bad_json } else { bad_yaml })
        })?,
        false => yaml(source)?,
    };
    let several = read.len() > 1;
    let place = |index: usize| match several {
        true => format!("{}: document {index}", source.name),
        false => source.name.clone(),
    };
    let present = (1..).zip(read).filter(|(_, json)| *json != JsonTree::Null);
    Ok(present.map(|(index, json)| (place(index), json)).collect())
}

/// Returns whether text in braces is JSON rather than YAML: names in JSON are quoted.
fn is_meant_as_json(text: &str) -> bool {
    let inside = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '['));
    inside.is_empty() || inside.starts_with(['"', '}', ']'])
}

fn json(source: &Source) -> Result<Vec<JsonTree>, String> {
    let read = serde_json::Deserializer::from_str(&source.text).into_iter::<&RawValue>();
    let read = (1..).zip(read).map(|(index, raw)| {
        let json = raw.map_err(anyhow::Error::from).and_then(|raw| JsonTree::from_json(raw.get()));
        json.map_err(|error| {
            let error = located(&source.text).unwrap_or_else(|| error.to_string());
            format!("{}: document {index}: not JSON: {error}", source.name)
        })
    });
    read.collect()
}

/// The first error of a text, with its line and column in the whole text.
fn located(text: &str) -> Option<String> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    values.find_map(|value| Some(value.err()?.to_string()))
}

fn yaml(source: &Source) -> Result<Vec<JsonTree>, String> {
    let read = (1..).zip(pieces(&source.text)).map(|(index, (first, text))| {
        yaml::read(text).map_err(|error| {
            let line = if error.line == 0 { 0 } else { error.line + first - 1 };
            Problem::new(&source.name, line, format!("document {index}: {}", error.message)).to_string()
        })
    });
    read.collect()
}

/// The YAML documents with content, each with the number of its first line. A line that starts with `---` starts a
/// document at any position (YAML 1.2 §9.2).
fn pieces(text: &str) -> Vec<(u64, &str)> {
    let mut starts = vec![(1, 0)];
    let mut at = 0;
    for (line, content) in (1..).zip(text.split_inclusive('\n')) {
        let marker = content
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if marker && at > 0 {
            starts.push((line, at));
        }
        at += content.len();
    }
    let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([text.len()]);
    let pieces = starts.iter().zip(ends).filter_map(|((line, start), end)| Some((*line, text.get(*start..end)?)));
    let has_content = |text: &str| {
        let mut lines = text.lines().map(|line| line.strip_prefix("---").unwrap_or(line).trim());
        lines.any(|line| !(line.is_empty() || line.starts_with('#') || line == "..."))
    };
    pieces.filter(|(_, text)| has_content(text)).collect()
}
