//! The running versions of a kind and their possible successors, derived from observation and stored nowhere.

use serde_json::Value;

use crate::definition::workflows::REWRITE;
use crate::lookup::request::{LookupRequest, title};
use crate::lookup::results::LookupResults;
use crate::observe::status::RolloutStatus;
use crate::spec::rollout::{Direction, readable};
use pointsman_core::definition::admission::{ObservedPart, PartVersions, whole_parts};
use pointsman_core::definition::upgrade::VersionText;
use pointsman_core::definition::{Kind, Path};

/// Observed versions of a kind, object by object.
#[derive(Clone, Debug)]
pub struct RunningVersions<'k> {
    kind: &'k Kind,
    objects: usize,
    /// Each version, with the number of objects that run it completely or in part.
    seen: Vec<(VersionText, usize)>,
    unread: usize,
    /// The first objects whose versions are unknown.
    shown: Vec<UnreadVersion>,
    /// Lookup results about other objects.
    answers: LookupResults,
}

/// An object whose running version is unknown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnreadVersion {
    /// `namespace/name`.
    pub object: String,
    /// The reason, as a message.
    pub why: String,
}

/// A version of a kind, and its state.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VersionStatus {
    /// As spelled in the definition; otherwise as observed.
    pub version: String,
    /// True if the fleet is meant to have this version.
    pub target: bool,
    /// The state.
    pub state: VersionState,
    /// The number of objects that run it completely or in part.
    pub objects: usize,
    /// Versions with an upgrade path to this one, if defined.
    pub upgrade_from: Vec<String>,
    /// Versions that a downgrade can return to, if defined.
    pub downgrade_to: Vec<String>,
    /// Prerequisites that must be applied before a rollout to this version.
    pub applied: Vec<String>,
    /// Prerequisites that must be available before a rollout and need not be applied.
    pub available: Vec<String>,
}

/// The state of a version.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VersionState {
    /// Runs everywhere.
    Active,
    /// Runs in some objects or parts of objects.
    Partial,
    /// Runs nowhere, and has an upgrade path from the active version.
    Available,
    /// Is not known to run, and cannot follow the active version.
    Unavailable,
}

impl VersionStatus {
    /// True if the text spells this version.
    #[must_use]
    pub fn is_called(&self, text: &str) -> bool {
        VersionText::new(&self.version).is(&VersionText::new(text))
    }
}

impl VersionState {
    /// As one word.
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
    /// Without observations.
    #[must_use]
    pub fn new(kind: &'k Kind) -> Self {
        Self::with_lookups(kind, LookupResults::default())
    }

    /// Without observations, with the results of [`Self::lookups`].
    #[must_use]
    pub fn with_lookups(kind: &'k Kind, answers: LookupResults) -> Self {
        Self { kind, objects: 0, seen: Vec::new(), unread: 0, shown: Vec::new(), answers }
    }

    /// Lookups of other objects that contain running versions.
    #[must_use]
    pub fn lookups(kind: &Kind) -> Vec<LookupRequest> {
        let others = kind.admission.observe.iter().flat_map(ObservedPart::others);
        others.map(LookupRequest::of_versions).collect()
    }

    /// The version in which to read objects of the kind; `None` if no served version contains all fields.
    #[must_use]
    pub fn read_in(kind: &Kind, stored: &str, served: &[&str]) -> Option<String> {
        let fields: Vec<&Path> = kind.admission.observe.iter().flat_map(ObservedPart::fields).collect();
        readable(&kind.versions_alike(&fields), stored, served).map(str::to_owned)
    }

    /// Adds an object, read in a version from [`Self::read_in`].
    pub fn see(&mut self, object: &Value) {
        self.objects += 1;
        let mut found: Vec<VersionText> = Vec::new();
        let parts = &self.kind.admission.observe;
        let own: Vec<PartVersions> = parts.iter().map(|part| part.own(object)).collect();
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let named = (text("/metadata/namespace"), text("/metadata/name").unwrap_or_default());
        let others = |source: &_| self.answers.versions_of(source, named);
        let unread = whole_parts(parts, &own, &others).into_iter().find_map(Result::err);
        // A known part counts even if another part is unknown.
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

    /// The number of objects observed.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.objects
    }

    /// The number of objects with unknown versions.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// The first objects with unknown versions, with reasons.
    #[must_use]
    pub fn shown(&self) -> &[UnreadVersion] {
        &self.shown
    }

    /// Every version that runs, is defined or is the target of a rollout, oldest first. `targets` are targets of active
    /// rollouts. Without targets, the active version counts as target.
    #[must_use]
    pub fn statuses(&self, targets: &[String]) -> Vec<VersionStatus> {
        let targets: Vec<VersionText> = targets.iter().map(|target| VersionText::new(target)).collect();
        let active = self.active();
        let status_of = |one: VersionText| {
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
        self.known(&targets).into_iter().map(status_of).collect()
    }

    /// The one version that runs everywhere; `None` while any object is unknown.
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

    /// All versions to report, once each in the first spelling, oldest first.
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

/// The target version of an active StagedRollout as read from the API server; otherwise `None`.
#[must_use]
pub fn rollout_target(document: &Value) -> Option<String> {
    let status = RolloutStatus::of(document);
    if document.pointer("/spec/workflow").is_some_and(|workflow| workflow == REWRITE) {
        return None;
    }
    let undo_requested = document.pointer("/spec/direction").and_then(Value::as_str) == Some("Undo");
    let is_undo = undo_requested || status.direction == Direction::Undo || status.undo_all;
    let to = document.pointer(if is_undo { "/spec/from" } else { "/spec/to" });
    to.and_then(Value::as_str).filter(|_| status.is_active()).map(str::to_owned)
}

/// Maximum number of listed objects: a fleet may lack labels altogether.
const SHOWN: usize = 50;
