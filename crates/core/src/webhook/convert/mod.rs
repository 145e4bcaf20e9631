//! One object from one version of its kind to another, losslessly, through every version between them.

mod annotations;
mod items;
mod kept;
mod lens;
mod level;
mod status;
mod told;
pub(super) mod tree;

use std::sync::Arc;

use self::annotations::Annotations;
use self::kept::Kept;
use self::level::Trip;
use self::status::{Requests, Rolling};
use self::told::Told;
use super::rollout;
use crate::definition::{Kind, Lens, Level, Path, Side, Step};
use crate::json::{Json, Members};

/// Why an object cannot be converted.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct ConvertError {
    /// The field.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// One change that a conversion made, for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The operation, by its key in the definition.
    pub operation: String,
    /// The fields it read: path and value.
    pub before: Vec<(String, String)>,
    /// The fields it wrote: path and value.
    pub after: Vec<(String, String)>,
    /// The values before are kept in an annotation.
    pub kept: bool,
    /// The values after were kept in an annotation and came back.
    pub given_back: bool,
}

/// How much of `metadata` an answer holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Metadata {
    /// All of it.
    Full,
    /// What the API server looks at: name, namespace, uid, labels and annotations. It restores the rest from the object
    /// that it sent (`apiextensions-apiserver webhook_converter.go`, `restoreObjectMeta`).
    Identity,
}

/// A converted object.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The object, as JSON.
    pub text: String,
    /// The version it came in.
    pub from: Arc<str>,
    /// A change that waits for somebody was taken as completed, because the last request is.
    pub staged: bool,
}

/// An object with its head taken apart: what every version has, and the rest.
#[derive(Clone)]
pub(super) struct Object<'a> {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) metadata: Members<'a>,
    pub(super) annotations: Annotations<'a>,
    /// All other top-level members.
    pub(super) root: Json<'a>,
}

fn fail(path: &str, reason: impl Into<String>) -> ConvertError {
    ConvertError { path: path.to_owned(), reason: reason.into() }
}

impl<'a> Object<'a> {
    /// Takes an object apart.
    pub(super) fn open(mut json: Json<'a>) -> Result<Self, ConvertError> {
        let twice = |path: &'static str| {
            move |twice: crate::json::Duplicate| fail(path, format!("names {:?} twice", twice.0))
        };
        let Some(members) = json.open().map_err(twice("object"))? else {
            return Err(fail("object", format!("must be an object, not a {}", json.type_name())));
        };
        let mut string = |name: &str| {
            let value = members.remove(name).unwrap_or(Json::NULL);
            value
                .as_str()
                .map(|text| text.into_owned())
                .ok_or_else(|| fail(name, "must be a string"))
        };
        let (api_version, kind) = (string("apiVersion")?, string("kind")?);
        let mut metadata = match members.remove("metadata").unwrap_or(Json::NULL) {
            null if null.is_null() => Members::default(),
            mut value => match value.open().map_err(twice("metadata"))? {
                Some(members) => std::mem::take(members),
                None => {
                    return Err(fail(
                        "metadata",
                        format!("must be an object, not a {}", value.type_name()),
                    ));
                }
            },
        };
        let annotations = Annotations::take(&mut metadata)?;
        Ok(Self { api_version, kind, metadata, annotations, root: json })
    }

    fn write(self, metadata: Metadata) -> Result<String, ConvertError> {
        let mut out = String::with_capacity(1024);
        let text = |text: &str| Json::string(text);
        let mut head = Members::default();
        head.set("apiVersion", text(&self.api_version));
        head.set("kind", text(&self.kind));
        let mut kept = Members::default();
        for (name, value) in self.metadata.iter() {
            if metadata == Metadata::Full || matches!(name, "name" | "namespace" | "uid" | "labels")
            {
                kept.set(name, value.clone());
            }
        }
        self.annotations.put(&mut kept)?;
        head.set("metadata", Json::Object(kept));
        Json::Object(head).write(&mut out);
        let mut rest = String::new();
        self.root.write(&mut rest);
        if rest.len() > 2 {
            out.pop();
            out.push(',');
            out.push_str(rest.get(1..).unwrap_or_default());
        }
        Ok(out)
    }

    /// The version the object is in, as an index into its kind's.
    pub(super) fn version(&self, kind: &Kind) -> Result<usize, ConvertError> {
        let version =
            self.api_version.strip_prefix(&kind.group).and_then(|rest| rest.strip_prefix('/'));
        version.and_then(|version| kind.version(version)).ok_or_else(|| {
            let known: Vec<&str> =
                kind.versions.iter().map(|version| version.api_version.as_str()).collect();
            fail(
                "apiVersion",
                format!(
                    "{:?} is no version of {}; it has {}",
                    self.api_version,
                    kind.kind,
                    known.join(", ")
                ),
            )
        })
    }

    /// Moves the object to another version.
    pub(super) fn convert(
        &mut self,
        kind: &Kind,
        to: usize,
        mut trace: Option<&mut Vec<Change>>,
    ) -> Result<bool, ConvertError> {
        let mut at = self.version(kind)?;
        let mut staged = false;
        while at != to {
            let (side, next) = if at < to { (Side::Newer, at + 1) } else { (Side::Older, at - 1) };
            let Some(step) = kind.steps.get(at.min(next)) else {
                return Err(fail("apiVersion", "no step leads on from here"));
            };
            staged |= self.step(kind, step, side, trace.as_deref_mut())?;
            at = next;
        }
        if let Some(version) = kind.versions.get(to) {
            self.api_version.clone_from(&version.api_version);
        }
        Ok(staged)
    }

    fn step(
        &mut self,
        kind: &Kind,
        step: &Step,
        to: Side,
        mut trace: Option<&mut Vec<Change>>,
    ) -> Result<bool, ConvertError> {
        for name in &step.objects {
            let value = self.root.get(name);
            if let Some(value) = value.filter(|value| !value.is_object() && !value.is_null()) {
                return Err(fail(name, format!("must be an object, not {}", value.type_name())));
            }
        }
        let mut root = std::mem::replace(&mut self.root, Json::NULL);
        let text = self.annotations.text(step.kept.of(to));
        let left = text.as_deref().and_then(|text| recognized(text, step));
        if left.is_some() {
            self.annotations.remove(step.kept.of(to));
        }
        let left = left.unwrap_or_default();
        let complete = is_complete(&mut root, step, to.other());
        let rollout = kind.rollout.as_ref().filter(|_| step.status.is_some());
        let hash = |root: &Json<'_>| match rollout {
            Some(rollout) if complete => {
                let force = rollout.force.as_deref().and_then(|force| self.annotations.text(force));
                rollout::hash(rollout, root.get(&rollout.of).as_ref(), force.as_deref())
            }
            _ => String::new(),
        };
        let mut trip = Trip { to, complete, trace: trace.as_deref_mut() };
        let (own, staged) = match (&step.status, to) {
            (Some(status), Side::Newer) => {
                let told = match trip.trace {
                    Some(_) => Some(Told::before(&mut root, status)?),
                    None => None,
                };
                let requests = Requests::take(&mut root, status)?;
                let mut own = level::convert(&mut root, &step.level, &mut trip, &left, "")?;
                let rolling = Rolling { status, complete, hash: hash(&root) };
                let staged = rolling.up(&mut root, requests, &left, &mut own)?;
                if let (Some(told), Some(trace)) = (told, trace) {
                    told.after(&mut root, &own, trace)?;
                }
                (own, staged)
            }
            (Some(status), Side::Older) => {
                let rolling = Rolling { status, complete, hash: hash(&root) };
                let mut own = level::convert(&mut root, &step.level, &mut trip, &left, "")?;
                rolling.down(&mut root, &left, &mut own, trace)?;
                (own, false)
            }
            (None, _) => (level::convert(&mut root, &step.level, &mut trip, &left, "")?, false),
        };
        self.root = root;
        self.annotations.settle(step, to, &left, own)?;
        Ok(staged)
    }
}

/// Converts the text of an object to another version of its kind.
pub(super) fn convert(
    kind: &Kind,
    mut object: Object<'_>,
    to: usize,
    metadata: Metadata,
    trace: Option<&mut Vec<Change>>,
) -> Result<Converted, ConvertError> {
    let from = object.version(kind)?;
    let staged = object.convert(kind, to, trace)?;
    let from = kind.versions.get(from).map(|version| version.name.clone());
    Ok(Converted {
        text: object.write(metadata)?,
        from: from.unwrap_or_else(|| Arc::from("")),
        staged,
    })
}

/// Entries that this step left. Anything else is somebody else's annotation.
fn recognized<'t>(text: &'t str, step: &Step) -> Option<Kept<'t>> {
    Kept::read(text)
        .filter(|kept| kept.mentions(|id| annotations::is_own(id) || is_known(id, step)))
}

fn is_known(id: &str, step: &Step) -> bool {
    let status = step.status.iter().flat_map(|status| {
        [
            &status.hashes.requested,
            &status.hashes.completed,
            &status.requests.requested,
            &status.requests.completed,
        ]
    });
    status.into_iter().any(|place| place.id == id) || is_place(id, &step.level)
}

/// Whether an operation keeps something under this name, or an object on the way to its field has it.
fn is_place(id: &str, level: &Level) -> bool {
    level.operations.iter().any(|operation| {
        let one_way = !matches!(operation.lens, Lens::Each { .. });
        let mut places = operation.places.older.iter().chain(&operation.places.newer);
        places.any(|place| place.id == id || (one_way && is_ancestor(id, &place.path)))
    })
}

fn is_ancestor(id: &str, path: &Path) -> bool {
    let mut path = path.clone();
    while let Some(parent) = path.parent().filter(|parent| !parent.is_empty()) {
        if parent.to_string() == id {
            return true;
        }
        path = parent;
    }
    false
}

/// Whether the object has what its kind requires. The API server sends others too, during server-side apply.
fn is_complete(root: &mut Json<'_>, step: &Step, side: Side) -> bool {
    step.complete.iter().all(|field| {
        let value = tree::get(root, "", field.of(side)).ok().flatten();
        value.is_some_and(|value| !value.is_null())
    })
}
