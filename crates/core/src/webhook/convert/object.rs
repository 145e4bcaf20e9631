//! An object with its parsed head, during its conversion through the versions of its kind.

use std::borrow::Cow;

use super::annotation_budget::AnnotationBudget;
use super::annotations::Annotations;
use super::between_steps::BetweenSteps;
use super::change::Trace;
use super::error::ConvertError;
use super::facts::Facts;
use super::string_arena::StringArena;
use super::{metadata_fields, pending, step};
use crate::definition::{HashedFields, Kind, Path, VersionIndex};
use crate::json::{Json, Members, unescape};
use crate::webhook::caller::{Caller, ClientDisconnected};
use crate::webhook::rollout_hash::{self, CalculatedHash, Preimage};

/// The part of `metadata` in a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Metadata {
    /// The whole metadata.
    Full,
    /// The metadata that the API server reads: name, namespace, uid, labels and annotations. It restores the rest from
    /// the object that it sent (`apiextensions-apiserver webhook_converter.go`, `restoreObjectMeta`).
    Identity,
    /// The metadata of a new object: name or generateName, namespace, labels and annotations.
    New,
}

/// An object with its parsed head, which every version has, and the rest.
#[derive(Clone)]
pub(crate) struct Object<'a> {
    pub(crate) api_version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
    metadata: Members<'a>,
    pub(crate) annotations: Annotations<'a>,
    /// All other top-level members.
    pub(crate) root: Json<'a>,
    texts: &'a StringArena,
    /// The rollout hash, if the conversion to the hashed version already calculated it.
    hash: Option<CalculatedHash>,
    /// The object is part of a write, so it is complete even without a uid.
    is_written: bool,
    /// The converted object is only read, so its kept annotation is not written.
    is_only_read: bool,
    /// The facts about the object.
    facts: Facts,
    /// The client that waits. `None` if it waits without limit.
    caller: Option<&'a Caller<'a>>,
}

impl<'a> Object<'a> {
    /// Parses an object. Texts from its annotations are stored in `texts`.
    pub(crate) fn open(mut json: Json<'a>, texts: &'a StringArena) -> Result<Self, ConvertError> {
        let mut members = opened(&mut json, "object")?;
        let (api_version, kind) = (string(&mut members, "apiVersion")?, string(&mut members, "kind")?);
        let mut metadata = match members.remove("metadata").unwrap_or(Json::NULL) {
            null if null.is_null() => Members::default(),
            mut value => opened(&mut value, "metadata")?,
        };
        let annotations = Annotations::take(&mut metadata)?;
        Ok(Self {
            api_version,
            kind,
            metadata,
            annotations,
            root: Json::Object(members),
            texts,
            hash: None,
            is_written: false,
            is_only_read: false,
            facts: Facts::default(),
            caller: None,
        })
    }

    /// Marks the object as part of a write. Admission receives complete objects, and new objects without a uid.
    pub(crate) fn written(mut self) -> Self {
        self.is_written = true;
        self
    }

    /// Adds facts about the object.
    pub(crate) fn knowing(mut self, facts: &Facts) -> Self {
        self.facts = facts.clone();
        self
    }

    /// Sets the client, which may disconnect.
    pub(crate) fn for_caller(mut self, caller: Option<&'a Caller<'a>>) -> Self {
        self.caller = caller;
        self
    }

    /// Checks that the client still waits.
    pub(crate) fn check_awaited(&self) -> Result<(), ClientDisconnected> {
        self.caller.map_or(Ok(()), Caller::waits)
    }

    /// Writes the object to the buffer that `room` returns for a number of bytes. Returns how its annotations fit.
    pub(super) fn write<'o>(self, metadata: Metadata, room: impl FnOnce(usize) -> &'o mut String) -> AnnotationBudget {
        let Self { api_version, kind, metadata: mut answered, annotations, root, .. } = self;
        match metadata {
            Metadata::Full => {}
            Metadata::Identity => answered.retain(|name| matches!(name, "name" | "namespace" | "uid" | "labels")),
            Metadata::New => {
                let is_named = answered.get("name").is_some();
                let stays = |name: &str| matches!(name, "name" | "namespace" | "labels");
                answered.retain(|name| stays(name) || !is_named && name == "generateName");
            }
        }
        let fit = annotations.put(&mut answered);
        let answered = Json::Object(answered);
        let out = room(HEAD + api_version.len() + kind.len() + answered.size() + root.size());
        out.push_str("{\"apiVersion\":");
        Json::write_string(&api_version, out);
        out.push_str(",\"kind\":");
        Json::write_string(&kind, out);
        out.push_str(",\"metadata\":");
        answered.append(out);
        // The other members follow those of the head.
        if let Json::Object(members) = &root {
            members.append_behind(out);
        }
        out.push('}');
        fit
    }

    /// The version of the object.
    pub(crate) fn version(&self, kind: &Kind) -> Result<VersionIndex, ConvertError> {
        kind.versions
            .find(|version| version.api_version == self.api_version && *version.kind == *self.kind)
            .ok_or_else(|| ConvertError::unknown_version("apiVersion", &self.api_version, kind))
    }

    /// Replaces the status by that of another object, if any.
    pub(crate) fn with_status_of(mut self, other: Option<&Self>) -> Self {
        self.hash = None;
        if let Json::Object(members) = &mut self.root {
            members.remove("status");
            if let Some(status) = other.and_then(|other| other.root.get("status")) {
                members.set("status", status.into_owned());
            }
        }
        self
    }

    /// Converts the object to another version.
    pub(crate) fn convert(&mut self, kind: &'a Kind, to: VersionIndex) -> Result<(), ConvertError> {
        self.convert_traced(kind, to, &mut Trace::off()).map(drop)
    }

    /// Converts the object to another version to read its fields. The result must not be written or converted again,
    /// because its kept annotation may be missing.
    pub(crate) fn convert_to_read(&mut self, kind: &'a Kind, to: VersionIndex) -> Result<(), ConvertError> {
        self.is_only_read = true;
        self.convert(kind, to)
    }

    /// Converts the object to another version, step by step. Returns whether a change that waits for approval was
    /// treated as completed.
    pub(crate) fn convert_traced(
        &mut self,
        kind: &'a Kind,
        to: VersionIndex,
        trace: &mut Trace<'_>,
    ) -> Result<bool, ConvertError> {
        let from = self.version(kind)?;
        let next = kind.steps_between(from, to).next().map(|(side, step)| step.kept.of(side));
        let others = kind.versions.indices().filter(|_| kind.steps.len() > 1);
        let mut others = others.filter_map(|version| kind.kept_annotation(version));
        let waits = others.any(|name| next.is_none_or(|next| next != name) && self.annotations.text(name).is_some());
        // A conversion back needs the kept annotation.
        self.is_only_read &= !waits;
        let before = waits.then(|| self.clone());
        let between = self.walk(kind, (from, to), Vec::new(), trace)?;
        // Pending values of this version were restored here, and become pending again in the conversion back only if
        // they were applied. If an object was assumed to stay only for such values, the conversion is repeated with the
        // actual needs.
        if between.stays_for_waiting
            && let Some(before) = before
            && let Ok(on_return) = self.clone().needed_on_return(kind, (to, from))
        {
            *self = before;
            trace.clear();
            return Ok(self.walk(kind, (from, to), on_return, trace)?.staged);
        }
        Ok(between.staged)
    }

    /// Runs the steps in sequence. `needed_on_return` are the paths of objects that pending values need in the
    /// conversion back, for each version that a step writes. If absent, the needs of the values that are pending now
    /// apply.
    fn walk(
        &mut self,
        kind: &'a Kind,
        (from, to): (VersionIndex, VersionIndex),
        needed_on_return: Vec<Vec<Path>>,
        trace: &mut Trace<'_>,
    ) -> Result<BetweenSteps<'a>, ConvertError> {
        let has_uid = self.is_written || self.metadata.get("uid").is_some();
        let facts = self.facts.clone();
        let needs_preimage = self.is_written;
        let caller = self.caller;
        let reads_namespace = kind.steps_between(from, to).any(|(_, step)| step.reads_namespace);
        let namespace = self.metadata.get("namespace").filter(|_| reads_namespace);
        let namespace = namespace.and_then(|name| Some(name.as_str()?.into_owned()));
        let mut between = BetweenSteps { has_uid, facts, needs_preimage, caller, namespace, ..BetweenSteps::default() };
        let mut needed_on_return = needed_on_return.into_iter();
        let has_metadata_fields = metadata_fields::has_any(kind);
        if has_metadata_fields {
            metadata_fields::copy_in(kind, &self.metadata, &self.annotations, &mut self.root);
        }
        let mut steps = kind.steps_between(from, to).peekable();
        while let Some((side, step)) = steps.next() {
            self.check_awaited()?;
            between.needed_on_return = needed_on_return.next();
            between.hash = None;
            between.omits_kept = self.is_only_read && steps.peek().is_none();
            let parts = (&mut self.root, &mut self.annotations, self.texts);
            step::convert(kind, step, (side, &mut between), parts, trace)?;
            self.hash = between.hash.take();
        }
        if has_metadata_fields {
            metadata_fields::write_back(kind, &mut self.metadata, &mut self.annotations, &mut self.root)?;
        }
        let version = kind.version_at(to);
        self.api_version = Cow::Borrowed(&version.api_version);
        self.kind = Cow::Borrowed(&version.kind);
        Ok(between)
    }

    /// The paths of objects that pending values need, for each version that a conversion back leaves, last version
    /// first. Excludes the version where it starts.
    fn needed_on_return(
        mut self,
        kind: &'a Kind,
        (from, origin): (VersionIndex, VersionIndex),
    ) -> Result<Vec<Vec<Path>>, ConvertError> {
        let has = |version: &VersionIndex| {
            kind.kept_annotation(*version).is_some_and(|name| self.annotations.text(name).is_some())
        };
        let mut behind = kind.versions.indices().filter(has);
        let far = if from > origin { behind.filter(|at| *at > from).last() } else { behind.find(|at| *at < from) };
        if let Some(far) = far {
            self.walk(kind, (from, far), Vec::new(), &mut Trace::off())?;
            self.walk(kind, (far, from), Vec::new(), &mut Trace::off())?;
        }
        let mut found = Vec::new();
        let mut at = from;
        for (side, step) in kind.steps_between(from, origin) {
            found.push(std::mem::take(pending::needed(kind, step, &self.annotations).of_mut(side.other())));
            let next = kind.versions.named(step.versions.of(side)).unwrap_or(origin);
            self.walk(kind, (at, next), Vec::new(), &mut Trace::off())?;
            at = next;
        }
        found.reverse();
        Ok(found)
    }

    /// The rollout hash. The object must be in the hashed version.
    pub(crate) fn rollout_hash(self, rollout: &HashedFields) -> String {
        match self.hash {
            Some(calculated) => calculated.hash,
            None => self.preimage(rollout).hash(),
        }
    }

    /// The rollout hash, if already calculated.
    pub(crate) fn known_hash(&self) -> Option<&str> {
        self.hash.as_ref().map(|calculated| calculated.hash.as_str())
    }

    /// The preimage of the rollout hash. The object must be in the hashed version.
    pub(crate) fn preimage(&self, rollout: &HashedFields) -> Cow<'_, Preimage> {
        match self.hash.as_ref().and_then(|calculated| calculated.preimage.as_ref()) {
            Some(preimage) => Cow::Borrowed(preimage),
            None => Cow::Owned(rollout_hash::preimage(rollout, &self.root, |key| {
                self.annotations.text(key).map(Cow::into_owned)
            })),
        }
    }
}

/// The size of the JSON around an object's version, kind and metadata.
const HEAD: usize = r#"{"apiVersion":"","kind":"","metadata":"#.len();

/// The members of an object, without a copy.
fn opened<'a>(json: &mut Json<'a>, path: &str) -> Result<Members<'a>, ConvertError> {
    match json.open() {
        Ok(Some(members)) => Ok(std::mem::take(members)),
        Ok(None) => Err(ConvertError::NotAnObject { path: path.to_owned(), found: json.a_type_name() }),
        Err(duplicate) => Err(ConvertError::named_twice(path, duplicate)),
    }
}

fn string<'a>(members: &mut Members<'a>, name: &str) -> Result<Cow<'a, str>, ConvertError> {
    let text = match members.remove(name) {
        Some(Json::Text(Cow::Borrowed(text))) if text.starts_with('"') => Some(unescape(text)),
        value => value.as_ref().and_then(Json::as_str).map(|text| Cow::Owned(text.into_owned())),
    };
    text.ok_or_else(|| ConvertError::NotAString { path: name.to_owned() })
}
