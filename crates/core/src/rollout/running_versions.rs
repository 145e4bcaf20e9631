//! Which versions run of a kind, and which may follow: worked out from what is seen, and kept nowhere.

use serde_json::Value;

use super::lookup_results::LookupResults;
use super::fleet_rollout::Direction;
use super::lookup_request::{LookupRequest, title};
use super::read_version::readable;
use super::status::RolloutStatus;
use crate::definition::admission::{ObservedPart, PartVersions, whole_parts};
use crate::definition::{Kind, Path, REWRITE};
use crate::upgrade::VersionText;

/// What is seen of the versions that run of a kind, object by object.
#[derive(Clone, Debug)]
pub struct RunningVersions<'k> {
    kind: &'k Kind,
    objects: usize,
    /// Each version with how many objects run it, or a part of which does.
    seen: Vec<(VersionText, usize)>,
    unread: usize,
    /// The first objects of which nobody knows what runs.
    shown: Vec<UnreadVersion>,
    /// What others say.
    answers: LookupResults,
}

/// An object of which nobody knows what runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnreadVersion {
    /// `namespace/name`.
    pub object: String,
    /// Why, in words.
    pub why: String,
}

/// A version of a kind, and how it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VersionStatus {
    /// As the definition spells it; else as it was found.
    pub version: String,
    /// Whether the fleet is meant to be at it.
    pub target: bool,
    /// How it stands.
    pub state: VersionState,
    /// How many objects run it, or a part of which does.
    pub objects: usize,
    /// The versions that may become this one, where the definition names them.
    pub upgrade_from: Vec<String>,
    /// The versions that this one may become again, where the definition names them.
    pub downgrade_to: Vec<String>,
    /// What must be applied before a rollout to it begins.
    pub applied: Vec<String>,
    /// What must be available then, and not applied yet.
    pub available: Vec<String>,
}

/// How a version stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VersionState {
    /// It runs everywhere.
    Active,
    /// It runs somewhere: of an object, or of a part of one.
    Partial,
    /// It runs nowhere, and the path leads to it from the one that runs everywhere.
    Available,
    /// It is not known to run anywhere, and cannot come next.
    Unavailable,
}

impl VersionStatus {
    /// Whether this is the version that somebody spells so.
    #[must_use]
    pub fn is_called(&self, text: &str) -> bool {
        VersionText::new(&self.version).is(&VersionText::new(text))
    }
}

impl VersionState {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Partial => "partial",
            Self::Available => "available",
            Self::Unavailable => "unavailable",
        }
    }
}

impl<'k> RunningVersions<'k> {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new(kind: &'k Kind) -> Self {
        Self::beside(kind, LookupResults::default())
    }

    /// The same, with the answers to [`Self::questions`].
    #[must_use]
    pub fn beside(kind: &'k Kind, answers: LookupResults) -> Self {
        Self { kind, objects: 0, seen: Vec::new(), unread: 0, shown: Vec::new(), answers }
    }

    /// What has to be looked up beside the objects of a kind: others that say which versions run of them.
    #[must_use]
    pub fn questions(kind: &Kind) -> Vec<LookupRequest> {
        let others = kind.admission.observe.iter().flat_map(ObservedPart::others);
        others.map(LookupRequest::of_versions).collect()
    }

    /// The version of the kind in which its objects are best read; nothing where none that is served says all of it.
    #[must_use]
    pub fn read_in(kind: &Kind, stored: &str, served: &[&str]) -> Option<String> {
        let fields: Vec<&Path> = kind.admission.observe.iter().flat_map(ObservedPart::fields).collect();
        readable(&kind.versions_alike(&fields), stored, served).map(str::to_owned)
    }

    /// Looks at one more object, in a version that [`Self::read_in`] names.
    pub fn see(&mut self, object: &Value) {
        self.objects += 1;
        let mut found: Vec<VersionText> = Vec::new();
        let parts = &self.kind.admission.observe;
        let own: Vec<PartVersions> = parts.iter().map(|part| part.own(object)).collect();
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let named = (text("/metadata/namespace"), text("/metadata/name").unwrap_or_default());
        let others = |source: &_| self.answers.versions_of(source, named);
        let unread = whole_parts(parts, &own, &others).into_iter().find_map(Result::err);
        // What is known of one part runs, whatever runs of another one.
        let known = parts.iter().flat_map(|part| part.known(object, &others));
        found.extend(known.map(|version| VersionText::new(&version)));
        if let Some(why) = unread {
            self.cannot_read(object, why);
        }
        for (at, one) in found.iter().enumerate() {
            if found.iter().take(at).any(|other| other.is(one)) {
                continue;
            }
            match self.seen.iter_mut().find(|(seen, _)| seen.is(one)) {
                Some((_, objects)) => *objects += 1,
                None => self.seen.push((one.clone(), 1)),
            }
        }
    }

    fn cannot_read(&mut self, object: &Value, why: String) {
        self.unread += 1;
        if self.shown.len() < SHOWN {
            self.shown.push(UnreadVersion { object: title(object), why });
        }
    }

    /// How many objects were seen.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.objects
    }

    /// Of how many of them nobody knows what runs.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// The first of these, each with the reason.
    #[must_use]
    pub fn shown(&self) -> &[UnreadVersion] {
        &self.shown
    }

    /// Every version that runs, that the definition names or that a rollout leads to, the oldest first. `targets` are
    /// those that rollouts under way lead to; without any the fleet is meant to be where all of it is.
    #[must_use]
    pub fn standings(&self, targets: &[String]) -> Vec<VersionStatus> {
        let targets: Vec<VersionText> = targets.iter().map(|target| VersionText::new(target)).collect();
        let active = self.active();
        let standing = |one: VersionText| {
            let objects = self.seen.iter().find(|(seen, _)| seen.is(&one)).map_or(0, |(_, objects)| *objects);
            let is_active = active.is_some_and(|active| active.is(&one));
            let state = match objects {
                _ if is_active => VersionState::Active,
                0 if active.is_some_and(|active| self.may_follow(active, &one)) => VersionState::Available,
                0 => VersionState::Unavailable,
                _ => VersionState::Partial,
            };
            let target = match targets.as_slice() {
                [] => is_active,
                targets => targets.iter().any(|target| target.is(&one)),
            };
            let path = self.kind.admission.version_path.as_ref();
            let named = path.and_then(|path| path.named.iter().find(|named| VersionText::new(&named.version).is(&one)));
            VersionStatus {
                target,
                state,
                objects,
                upgrade_from: named.map_or_else(Vec::new, |named| named.upgrade_from.clone()),
                downgrade_to: named.map_or_else(Vec::new, |named| named.downgrade_to.clone()),
                applied: named.map_or_else(Vec::new, |named| named.needs.applied.clone()),
                available: named.map_or_else(Vec::new, |named| named.needs.available.clone()),
                version: one.text,
            }
        };
        self.known(&targets).into_iter().map(standing).collect()
    }

    /// The one version that runs everywhere. Where nobody knows of an object, none does.
    fn active(&self) -> Option<&VersionText> {
        match self.seen.as_slice() {
            [(one, _)] if self.unread == 0 => Some(one),
            _ => None,
        }
    }

    fn may_follow(&self, from: &VersionText, to: &VersionText) -> bool {
        match (&self.kind.admission.version_path, &from.version, &to.version) {
            (None, _, _) => true,
            (Some(path), Some(from), Some(to)) => path.path.allow(from, to).is_ok(),
            _ => false,
        }
    }

    /// All versions that there is something to say about, each once, in its first spelling, the oldest first.
    fn known(&self, targets: &[VersionText]) -> Vec<VersionText> {
        let admission = &self.kind.admission;
        let named = admission.version_path.iter().flat_map(|path| &path.named).map(|named| &named.version);
        let named = named.chain(admission.managers.keys()).map(|text| VersionText::new(text));
        let seen = self.seen.iter().map(|(seen, _)| seen.clone());
        let mut known: Vec<VersionText> = Vec::new();
        for one in named.chain(seen).chain(targets.iter().cloned()) {
            if !known.iter().any(|other| other.is(&one)) {
                known.push(one);
            }
        }
        known.sort_by(|one, other| match (&one.version, &other.version) {
            (Some(one), Some(other)) => one.cmp_precedence(other),
            (one, other) => other.is_some().cmp(&one.is_some()),
        });
        known
    }
}

/// The version that a StagedRollout leads to which is under way, as an API server answered it; nothing of any other.
#[must_use]
pub fn rollout_target(document: &Value) -> Option<String> {
    let status = RolloutStatus::of(document);
    if document.pointer("/spec/workflow").is_some_and(|workflow| workflow == REWRITE) {
        return None;
    }
    let is_asked_back = document.pointer("/spec/direction").and_then(Value::as_str) == Some("Undo");
    let goes_back = is_asked_back || status.direction == Direction::Undo || status.undo_all;
    let to = document.pointer(if goes_back { "/spec/from" } else { "/spec/to" });
    to.and_then(Value::as_str).filter(|_| status.is_active()).map(str::to_owned)
}

/// Objects that are named: a fleet may have no label at all.
const SHOWN: usize = 50;
