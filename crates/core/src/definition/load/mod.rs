//! From the text of a definition and of its CRD to a [`Kind`], or to everything that is wrong with it.

mod crd;
mod rollout;

use serde_json::Value;
use serde_saphyr::Spanned;

use super::admission::{self, Admission};
use super::compile::Compiler;
use super::document::Document;
use super::unreadable;
use super::{API_VERSION, BadDefinition, KIND, Kind, Problem, Schema};

/// Where problems are collected, so that one run tells all of them.
pub(super) struct Problems {
    file: String,
    list: Vec<Problem>,
}

impl Problems {
    pub(super) fn add(&mut self, line: u64, message: impl Into<String>) {
        self.list.push(Problem { file: self.file.clone(), line, message: message.into() });
    }

    fn into_result<T>(mut self, value: Option<T>) -> Result<T, BadDefinition> {
        match value {
            Some(value) if self.list.is_empty() => Ok(value),
            _ => {
                self.list.sort_by_key(|problem| problem.line);
                self.list.dedup();
                Err(BadDefinition { problems: self.list })
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
    let mut problems = Problems { file: file.to_owned(), list: Vec::new() };
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
    for (what, found, wanted) in
        [("apiVersion", &document.api_version, API_VERSION), ("kind", &document.kind, KIND)]
    {
        if found.value != wanted {
            problems.add(
                line(found),
                format!("{what} is {:?}, this build reads {wanted:?}", found.value),
            );
        }
    }
    let crd = crd::read(&document.crd, read, problems)?;
    let versions =
        crd::order(crd::versions(&crd, line(&document.crd), problems)?, &document.steps, problems)?;
    let rollout = match &document.rollout {
        Some(rollout) => Some(rollout::compile(rollout, &versions, problems)?),
        None => None,
    };
    let mut steps = Vec::new();
    for (index, (step, pair)) in document.steps.iter().zip(versions.windows(2)).enumerate() {
        let [older, newer] = pair else { continue };
        let status = match (&document.rollout, &rollout) {
            (Some(written), Some(rollout)) if rollout.at == index + 1 => {
                written.value.status.as_ref().map(|status| (status, line(written)))
            }
            _ => None,
        };
        steps.push(
            Compiler { problems, older: &older.schema, newer: &newer.schema }
                .step(step, older, newer, status),
        );
    }
    if let (Some(written), Some(rollout)) = (&document.rollout, &rollout)
        && rollout.at == 0
        && written.value.status.is_some()
    {
        problems.add(line(written), "rollout.status: no step leads to the version that is hashed");
    }
    let group = crd.pointer("/spec/group").and_then(Value::as_str).unwrap_or_default();
    let admission = match &document.admission {
        Some(written) => admission::compile(written, group, &versions, problems)?,
        None => Admission::none(group),
    };
    let text =
        |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
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

/// `, did you mean "x"?` where something near exists.
pub(super) fn hint(schema: &Schema, name: &str) -> String {
    schema.nearest(name).map(|near| format!(", did you mean {near:?}?")).unwrap_or_default()
}
