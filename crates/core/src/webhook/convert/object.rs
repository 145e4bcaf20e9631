//! An object with its head taken apart, on its way through the versions of its kind.

use super::annotations::Annotations;
use super::change::Trace;
use super::context::Ends;
use super::error::ConvertError;
use super::step;
use crate::definition::{Kind, Rollout, Side, Step, VersionIndex};
use crate::json::{Json, Members};
use crate::webhook::rollout::{self, Preimage};

/// How much of `metadata` an answer holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Metadata {
    /// All of it.
    Full,
    /// What the API server looks at: name, namespace, uid, labels and annotations. It restores the rest from the object
    /// that it sent (`apiextensions-apiserver webhook_converter.go`, `restoreObjectMeta`).
    Identity,
}

/// An object with its head taken apart: what every version has, and the rest.
#[derive(Clone)]
pub(crate) struct Object<'a> {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    metadata: Members<'a>,
    pub(crate) annotations: Annotations<'a>,
    /// All other top-level members.
    pub(crate) root: Json<'a>,
}

impl<'a> Object<'a> {
    /// Takes an object apart.
    pub(crate) fn open(mut json: Json<'a>) -> Result<Self, ConvertError> {
        let mut members = opened(&mut json, "object")?;
        let (api_version, kind) = (string(&mut members, "apiVersion")?, string(&mut members, "kind")?);
        let mut metadata = match members.remove("metadata").unwrap_or(Json::NULL) {
            null if null.is_null() => Members::default(),
            mut value => opened(&mut value, "metadata")?,
        };
        let annotations = Annotations::take(&mut metadata)?;
        Ok(Self { api_version, kind, metadata, annotations, root: Json::Object(members) })
    }

    /// The text, and whether something was too large to be in it.
    pub(super) fn write(self, metadata: Metadata) -> (String, bool) {
        let text = |text: &str| Json::string(text);
        let mut head = Members::default();
        head.set("apiVersion", text(&self.api_version));
        head.set("kind", text(&self.kind));
        let mut answered = Members::default();
        for (name, value) in self.metadata.iter() {
            if metadata == Metadata::Full || matches!(name, "name" | "namespace" | "uid" | "labels") {
                answered.set(name, value.clone());
            }
        }
        let is_incomplete = self.annotations.put(&mut answered);
        head.set("metadata", Json::Object(answered));
        let head = Json::Object(head);
        let mut out = String::with_capacity(head.size() + self.root.size());
        head.write(&mut out);
        // The members of the rest, behind those of the head: `{…}{…}` becomes `{…,…}`.
        let end = out.len();
        self.root.write(&mut out);
        match out.len() - end {
            2 => out.truncate(end),
            _ => out.replace_range(end - 1..=end, ","),
        }
        (out, is_incomplete)
    }

    /// The version the object is in.
    pub(crate) fn version(&self, kind: &Kind) -> Result<VersionIndex, ConvertError> {
        kind.versions
            .find(|version| version.api_version == self.api_version)
            .ok_or_else(|| ConvertError::unknown_version("apiVersion", &self.api_version, kind))
    }

    /// The object with the status of another one.
    pub(crate) fn with_status_of(mut self, other: &Self) -> Self {
        if let Json::Object(members) = &mut self.root {
            members.remove("status");
            if let Some(status) = other.root.get("status") {
                members.set("status", status.into_owned());
            }
        }
        self
    }

    /// Moves the object to another version.
    pub(crate) fn convert(&mut self, kind: &Kind, to: VersionIndex) -> Result<(), ConvertError> {
        self.convert_traced(kind, to, &mut Trace::off()).map(drop)
    }

    /// Moves the object to another version, step by step. Returns whether a change that waits for somebody was taken as
    /// completed on the way.
    pub(super) fn convert_traced(
        &mut self,
        kind: &Kind,
        to: VersionIndex,
        trace: &mut Trace<'_>,
    ) -> Result<bool, ConvertError> {
        let from = self.version(kind)?;
        let mut staged = false;
        let mut steps = kind.steps_between(from, to).peekable();
        let mut starts = true;
        while let Some((side, step)) = steps.next() {
            staged |= self.step(kind, step, (side, Ends { starts, ends: steps.peek().is_none() }), trace)?;
            starts = false;
        }
        Ok(staged)
    }

    fn step(
        &mut self,
        kind: &Kind,
        step: &Step,
        (to, ends): (Side, Ends),
        trace: &mut Trace<'_>,
    ) -> Result<bool, ConvertError> {
        let staged = step::convert(kind, step, (to, ends), &mut self.root, &mut self.annotations, trace)?;
        self.api_version = format!("{}/{}", kind.group, step.versions.of(to));
        Ok(staged)
    }

    /// What the rollout hash is made of. The object must be in the version that is hashed.
    pub(crate) fn preimage(&self, rollout: &Rollout) -> Preimage {
        rollout::preimage(rollout, &self.root, |key| self.annotations.text(key))
    }
}

/// The members of an object, without a copy.
fn opened<'a>(json: &mut Json<'a>, path: &str) -> Result<Members<'a>, ConvertError> {
    match json.open() {
        Ok(Some(members)) => Ok(std::mem::take(members)),
        Ok(None) => Err(ConvertError::NotAnObject { path: path.to_owned(), found: json.a_type_name() }),
        Err(duplicate) => Err(ConvertError::named_twice(path, duplicate)),
    }
}

fn string(members: &mut Members<'_>, name: &str) -> Result<String, ConvertError> {
    let value = members.remove(name);
    let text = value.as_ref().and_then(Json::as_str).map(|text| text.into_owned());
    text.ok_or_else(|| ConvertError::NotAString { path: name.to_owned() })
}
