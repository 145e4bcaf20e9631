//! Judges a write by the rules of one controller version.

use super::complete::complete;
use super::handover::{enter, is_held, leave};
use super::judgement::{Flip, Judgement, Judging};
use super::kept_entries::kept_entries;
use super::mistaken_label::mistaken_labels;
use super::override_reason::reason;
use super::rules::{applies, apply};
use super::subject::{OpenedWrite, Subject};
use super::warnings::{dropped_fields, rollout, stale_hash};
use super::{
    controller::ControllerVersion, findings::Findings, ratchet::Ratchet, role::Role, settings::Settings, write::Write,
};
use crate::apimachinery::{FieldError, Reason};
use crate::definition::{HashedFields, Kind};
use crate::webhook::convert::ConvertError;

/// Judges the creation or update of an object.
pub(crate) fn judge(kind: &Kind, settings: &Settings, write: &Write<'_>) -> Judgement {
    let mut judging = Judging::new(kind, settings.enforcement);
    match Role::of(kind, settings, write) {
        Role::Bystander => judging.unjudged(),
        Role::Entered { from } => {
            let why = reason(write);
            judging.add_unless("version-path", enter(kind, settings, write, from.as_deref()), why.as_deref());
            judge_object(kind, settings, write, Ratchet::Nothing, &mut judging);
            // The old version refuses by the same definition, and counts that. Both receive the request at the same
            // time.
            let is_held = why.is_none() && from.is_some_and(|from| is_held(kind, settings, write, &from));
            judging.finish([(!is_held).then_some(Flip::Entered), Some(Flip::EnterRefused)])
        }
        Role::Left { this, to } => {
            let why = reason(write);
            let found = leave(kind, settings, write, this, &to, why.is_some());
            judging.add_unless("handover", found, why.as_deref());
            judging.finish([Flip::Left, Flip::LeaveRefused].map(Some))
        }
        Role::Owner => {
            judge_object(kind, settings, write, Ratchet::of(kind, write), &mut judging);
            judging.finish([None, None])
        }
        Role::Shadow => {
            judge_object(kind, settings, write, Ratchet::of(kind, write), &mut judging);
            judging.only_counted()
        }
    }
}

/// Applies all rules of this controller version.
fn judge_object(kind: &Kind, settings: &Settings, write: &Write<'_>, ratchet: Ratchet, judging: &mut Judging<'_>) {
    judging.add("mistaken-label", mistaken_labels(kind, write));
    let judged = read(kind, write).and_then(|mut opened| {
        judging.add("complete", complete(&mut opened, write.new.own_size()));
        judging.add("kept-entries", kept_entries(&opened));
        apply_rules(settings, opened, ratchet, judging)
    });
    if let Err(error) = judged {
        judging.add("readable", not_convertible(write, &error, ratchet));
    }
}

/// Parses the objects of a write. The old object may be invalid, as the write may repair it.
fn read<'k: 'j, 'j>(kind: &'k Kind, write: &'j Write<'_>) -> Result<OpenedWrite<'k, 'j>, ConvertError> {
    let new = write.new.object()?;
    let at = new.version(kind)?;
    let old = write.old.as_ref().and_then(|old| old.object().ok());
    Ok(OpenedWrite { kind, at, new, old, newest: None })
}

/// Applies the rules. Converts each object once to each version that rules or the rollout hash use.
fn apply_rules(
    settings: &Settings,
    mut opened: OpenedWrite<'_, '_>,
    ratchet: Ratchet,
    judging: &mut Judging<'_>,
) -> Result<(), ConvertError> {
    let (kind, sent_at) = (opened.kind, opened.at);
    let controller = settings.controller.as_ref().map(ControllerVersion::version);
    let mut subjects: Vec<Subject<'_, '_>> = Vec::new();
    for at in kind.versions.indices() {
        let is_newest = at == kind.versions.newest();
        let mut rules = kind
            .admission
            .rules
            .iter()
            .filter(|rule| rule.at == at && applies(rule, controller))
            .filter(|rule| at == sent_at || (is_newest && !rule.only))
            .peekable();
        if rules.peek().is_none() {
            continue;
        }
        let mut subject = Subject::of(&mut opened, at)?;
        for rule in rules {
            opened.new.check_awaited()?;
            judging.add(&rule.id, apply(&mut subject, rule, ratchet));
        }
        subjects.push(subject);
    }
    if let Some(hashed) = &kind.rollout_hash {
        let made = subjects.into_iter().find(|subject| subject.version() == hashed.at);
        if let Some(subject) = made.or_else(|| Subject::of(&mut opened, hashed.at).ok()) {
            for (rule, warning) in about_the_hash(hashed, &opened, &subject) {
                judging.warn(rule, &warning);
            }
        }
    }
    for warning in dropped_fields(&mut opened) {
        judging.warn("gone", &warning);
    }
    Ok(())
}

/// Warnings about the rollout hash: a rollout starts, or the stamp is stale. `subject` is the write in the version that
/// is hashed.
fn about_the_hash(
    hashed: &HashedFields,
    opened: &OpenedWrite<'_, '_>,
    subject: &Subject<'_, '_>,
) -> impl Iterator<Item = (&'static str, String)> {
    let new = subject.new_object();
    let after = new.preimage(hashed);
    let starts = subject.old_object().and_then(|old| {
        let before = old.preimage(hashed);
        rollout(hashed, opened, [(old, &before), (new, &after)])
    });
    let stale = stale_hash(opened, (new, &after));
    starts.map(|warning| ("rollout", warning)).into_iter().chain(stale.map(|warning| ("rollout-hash", warning)))
}

/// The findings for an object that cannot be converted, and therefore not judged. It can still be repaired, released
/// and deleted.
fn not_convertible(write: &Write<'_>, error: &ConvertError, ratchet: Ratchet) -> Findings {
    let (path, detail) = (error.path().to_owned(), error.reason());
    let mut found = Findings::default();
    found.errors.push(FieldError { path, reason: Reason::Invalid, value: None, detail });
    if ratchet.excuses(write, error.path()) {
        found.excuse();
    }
    found
}
