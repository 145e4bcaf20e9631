//! Handles an `AdmissionReview`: a patch for `/mutate`, a verdict for `/validate`.

use std::sync::Arc;

use crate::apimachinery::{ObjectName, Status, excerpt};
use crate::definition::{Kind, MutatedKind, VersionIndex};
use crate::json::Json;
use crate::webhook::admission::{self, Judgement, Settings, Verdict, Write};
use crate::webhook::caller::Caller;
use crate::webhook::facts::KnownFacts;
use crate::webhook::handle_error::HandleError;
use crate::webhook::kinds::Kinds;
use crate::webhook::mutations::mutated;
use crate::webhook::reply::{FailedObject, Outcome, Reply};
use crate::webhook::review::{AdmissionRequest, AdmissionResponse, Envelope, PatchOperation, ReviewError, parse};

/// Responds with the patch for the object: of its mutations, or of its kind. Fails if the body has no uid, a fact is
/// unknown, or the client has disconnected.
pub(crate) fn mutate(
    (kinds, settings): (&Kinds, &Settings),
    (mutated_kinds, facts): (&[MutatedKind], Option<&KnownFacts>),
    caller: &Caller<'_>,
    body: &[u8],
) -> Result<Reply, HandleError> {
    let read = AdmissionRequest::read(parse(body)?);
    if let Ok(AdmissionRequest::Write { group, kind, .. }) = &read
        && let Some(of) = mutated_kinds.iter().find(|of| (&of.group, &of.kind) == (group, kind))
        && let Ok(AdmissionRequest::Write { envelope, object, old, .. }) = read
    {
        let write = Write::new(object, old).for_caller(caller);
        let unknown = KnownFacts::default();
        let made = mutated(of, &write, facts.unwrap_or(&unknown));
        let (patch, warnings) = made.map_err(HandleError::FactUnknown)?;
        caller.waited()?;
        return Ok(patched(&envelope, &patch, &warnings));
    }
    answer(kinds, caller, read, allowed, |kind, write, envelope| {
        let (patch, warnings) = admission::stamp(kind, settings, write);
        patched(envelope, &patch, &warnings)
    })
}

/// Allows a write with these changes.
fn patched(envelope: &Envelope, patch: &[PatchOperation], warnings: &[String]) -> Reply {
    let outcome = if patch.is_empty() { Outcome::Allow } else { Outcome::Patch };
    Reply::new(outcome, envelope.uid(), AdmissionResponse::Patched { patch, warnings }.write(envelope))
}

/// Responds with the verdict on the object. Fails if the body has no uid, or the client has disconnected.
pub(crate) fn validate(
    kinds: &Kinds,
    settings: &Settings,
    caller: &Caller<'_>,
    body: &[u8],
) -> Result<Reply, HandleError> {
    let scaled = |Scaled { kind, at, new, old }: &Scaled<'_>, envelope: &Envelope| {
        judged(kind, new, admission::judge_scale(kind, settings, *at, new, old.as_ref()), envelope)
    };
    answer(kinds, caller, AdmissionRequest::read(parse(body)?), scaled, |kind, write, envelope| {
        if let Some(problem) = admission::misdirected(kind, settings, write) {
            let verdict = Verdict { kind: kind.name.clone(), rule: "registration".to_owned(), effect: "deny" };
            return Reply { verdicts: vec![verdict], ..refused(envelope, &problem) };
        }
        judged(kind, write.new.json(), admission::judge(kind, settings, write), envelope)
    })
}

/// The verdict on an object, or on its scale.
fn judged(kind: &Kind, object: &Json<'_>, judgement: Judgement, envelope: &Envelope) -> Reply {
    let (warnings, audit) = (judgement.warnings.as_slice(), judgement.audit.as_slice());
    let reply = match judgement.status(kind, object) {
        None => {
            let response = AdmissionResponse::Allowed { warnings, audit };
            Reply::new(Outcome::Allow, envelope.uid(), response.write(envelope))
        }
        Some(status) => {
            let object = ObjectName::of(object).to_string();
            let path = judgement.errors.first().map(|error| excerpt(&error.path)).unwrap_or_default();
            let failed = Some(FailedObject { object, kind: Arc::clone(&kind.name), path });
            Reply { failed, ..denied(envelope, &status, warnings, audit) }
        }
    };
    Reply { verdicts: judgement.verdicts, flip: judgement.flip, ..reply }
}

/// The scale of an object of a known kind, in a version.
struct Scaled<'a> {
    kind: &'a Kind,
    at: VersionIndex,
    new: Json<'a>,
    old: Option<Json<'a>>,
}

/// Allows the write unchanged.
fn allowed(_: &Scaled<'_>, envelope: &Envelope) -> Reply {
    let response = AdmissionResponse::Allowed { warnings: &[], audit: &[] };
    Reply::new(Outcome::Allow, envelope.uid(), response.write(envelope))
}

fn answer(
    kinds: &Kinds,
    caller: &Caller<'_>,
    read: Result<AdmissionRequest<'_>, ReviewError>,
    scaled: impl FnOnce(&Scaled<'_>, &Envelope) -> Reply,
    decide: impl FnOnce(&Kind, &Write<'_>, &Envelope) -> Reply,
) -> Result<Reply, HandleError> {
    match read {
        Ok(AdmissionRequest::Exempt(envelope)) => {
            let response = AdmissionResponse::Allowed { warnings: &[], audit: &[] };
            Ok(Reply::new(Outcome::Allow, envelope.uid(), response.write(&envelope)))
        }
        Ok(AdmissionRequest::Scale { envelope, group, version, plural, scale, old }) => {
            let known = kinds.all().iter().find(|kind| (&kind.group, &kind.plural) == (&group, &plural));
            let known = known.and_then(|kind| Some((kind, kind.version(&version)?)));
            Ok(match known {
                Some((kind, at)) => scaled(&Scaled { kind, at, new: scale, old }, &envelope),
                None => {
                    let response = AdmissionResponse::Allowed { warnings: &[], audit: &[] };
                    Reply::new(Outcome::Allow, envelope.uid(), response.write(&envelope))
                }
            })
        }
        Ok(AdmissionRequest::Write { envelope, group, kind, object, old, manager, dry_run }) => {
            let kind = match kinds.named(&group, &kind) {
                Ok(kind) => kind,
                Err(error) => return Ok(refused(&envelope, &error.to_string())),
            };
            let reply = decide(kind, &Write::new(object, old).by(manager).for_caller(caller), &envelope);
            // An aborted decision resembles an object that cannot be read.
            caller.waited()?;
            Ok(Reply { flip: reply.flip.filter(|_| !dry_run), ..reply })
        }
        Err(ReviewError::Problem(envelope, problem)) => Ok(refused(&envelope, &problem)),
        Err(ReviewError::Bad(bad)) => Err(bad.into()),
    }
}

/// Rejects a request that could not be judged: the registration is wrong, not the object.
fn refused(envelope: &Envelope, problem: &str) -> Reply {
    denied(envelope, &Status::bad_request(excerpt(problem)), &[], &[])
}

fn denied(envelope: &Envelope, status: &Status, warnings: &[String], audit: &[(String, String)]) -> Reply {
    let body = AdmissionResponse::Denied { status, warnings, audit }.write(envelope);
    let message = Some(status.message().to_owned());
    Reply { message, ..Reply::new(Outcome::Deny, envelope.uid(), body) }
}
