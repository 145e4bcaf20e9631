//! The judgement of one write by the rules of one controller version.

use super::complete::complete;
use super::handover::{enter, leave};
use super::judgement::{Flip, Judgement, Judging};
use super::rules::{applies, apply};
use super::subject::{Request, Subject};
use super::warnings::{dropped_fields, rollout};
use super::{
    controller::ControllerVersion, findings::Findings, ratchet::Ratchet, role::Role, settings::Settings, write::Write,
};
use crate::apimachinery::{FieldError, Reason};
use crate::{definition::Kind, webhook::convert::ConvertError};

/// Judges a create or an update.
pub(crate) fn judge(kind: &Kind, settings: &Settings, write: &Write<'_>) -> Judgement {
    let mut judging = Judging::new(kind, settings.enforcement);
    match Role::of(kind, settings, write) {
        Role::Bystander => judging.unjudged(),
        Role::Entered { from } => {
            judging.add("version-path", enter(kind, settings, write, from.as_deref()));
            judge_object(kind, settings, write, Ratchet::Nothing, &mut judging);
            judging.finish(Some([Flip::Entered, Flip::EnterRefused]))
        }
        Role::Left { this, to } => {
            judging.add("handover", leave(kind, settings, write, this, &to));
            judging.finish(Some([Flip::Left, Flip::LeaveRefused]))
        }
        Role::Owner => {
            judge_object(kind, settings, write, Ratchet::of(write), &mut judging);
            judging.finish(None)
        }
        Role::Shadow => {
            judge_object(kind, settings, write, Ratchet::of(write), &mut judging);
            judging.only_counted()
        }
    }
}

/// Applies all rules of this controller version.
fn judge_object(kind: &Kind, settings: &Settings, write: &Write<'_>, ratchet: Ratchet, judging: &mut Judging<'_>) {
    let judged = read(kind, write).and_then(|mut request| {
        judging.add("complete", complete(&mut request, write.new.size()));
        apply_rules(settings, request, ratchet, judging)
    });
    if let Err(error) = judged {
        judging.add("readable", not_convertible(write, &error, ratchet));
    }
}

/// Takes the objects of a write apart. The old one need not be readable: it may be what is being repaired.
fn read<'k: 'j, 'j>(kind: &'k Kind, write: &Write<'j>) -> Result<Request<'k, 'j>, ConvertError> {
    let new = write.new.object()?;
    let at = new.version(kind)?;
    let old = write.old.as_ref().and_then(|old| old.object().ok());
    Ok(Request { kind, at, new, old, newest: None })
}

/// Each object is converted once to each version that rules, or the rollout hash, speak of.
fn apply_rules(
    settings: &Settings,
    mut request: Request<'_, '_>,
    ratchet: Ratchet,
    judging: &mut Judging<'_>,
) -> Result<(), ConvertError> {
    let (kind, sent_at) = (request.kind, request.at);
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
        let mut subject = Subject::of(&mut request, at)?;
        for rule in rules {
            judging.add(&rule.id, apply(&mut subject, rule, ratchet));
        }
        subjects.push(subject);
    }
    if let (Some(hashed), Some(_)) = (&kind.rollout, &request.old) {
        let made = subjects.into_iter().find(|subject| subject.version() == hashed.at);
        let subject = made.or_else(|| Subject::of(&mut request, hashed.at).ok());
        if let Some(warning) = subject.and_then(|subject| rollout(hashed, &request, &subject)) {
            judging.warn("rollout", &warning);
        }
    }
    for warning in dropped_fields(&mut request) {
        judging.warn("gone", &warning);
    }
    Ok(())
}

/// An object that cannot be converted cannot be judged. It may still be repaired, released and deleted.
fn not_convertible(write: &Write<'_>, error: &ConvertError, ratchet: Ratchet) -> Findings {
    let (path, detail) = (error.path().to_owned(), error.reason());
    let mut found = Findings::default();
    found.errors.push(FieldError { path, reason: Reason::Invalid, value: None, detail });
    if ratchet.excuses(write, error.path()) {
        found.excuse();
    }
    found
}
