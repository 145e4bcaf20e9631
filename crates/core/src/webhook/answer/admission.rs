//! Answers an `AdmissionReview`: a patch from `/mutate`, a verdict from `/validate`.

use std::sync::Arc;

use crate::apimachinery::{ObjectName, Status, excerpt};
use crate::definition::VersionIndex;
use crate::json::Json;
use crate::webhook::admission::{self, Enforcement, Settings, Verdict, Write};
use crate::webhook::reply::{FailedObject, Outcome, Reply};
use crate::webhook::review::{AdmissionRequest, AdmissionResponse, BadReview, Envelope, ReviewError, parse};
use crate::{definition::Kind, webhook::kinds::Kinds};

/// Answers a body with what has to be changed in the object. Fails where there is no uid to answer to.
pub(crate) fn mutate(kinds: &Kinds, settings: &Settings, body: &[u8]) -> Result<Reply, BadReview> {
    answer(kinds, body, allowed, |kind, write, envelope| {
        let (patch, warnings) = admission::stamp(kind, settings, write);
        let outcome = if patch.is_empty() { Outcome::Allow } else { Outcome::Patch };
        Reply::new(
            outcome,
            envelope.uid(),
            AdmissionResponse::Patched { patch: &patch, warnings: &warnings }.write(envelope),
        )
    })
}

/// Answers a body with whether the object may be written so. Fails where there is no uid to answer to.
pub(crate) fn validate(kinds: &Kinds, settings: &Settings, body: &[u8]) -> Result<Reply, BadReview> {
    let scaled = |scaled: &Scaled<'_>, envelope: &Envelope| scale(settings, scaled, envelope);
    answer(kinds, body, scaled, |kind, write, envelope| {
        if let Some(problem) = admission::misdirected(kind, settings, write) {
            let verdict = Verdict { kind: kind.name.clone(), rule: "registration".to_owned(), effect: "deny" };
            return Reply { verdicts: vec![verdict], ..refused(envelope, &problem) };
        }
        let judgement = admission::judge(kind, settings, write);
        let status = judgement.status(kind, write);
        let (warnings, audit) = (judgement.warnings.as_slice(), judgement.audit.as_slice());
        let reply = match &status {
            None => {
                let response = AdmissionResponse::Allowed { warnings, audit };
                Reply::new(Outcome::Allow, envelope.uid(), response.write(envelope))
            }
            Some(status) => {
                let object = ObjectName::of(write.new.json()).to_string();
                let path = judgement.errors.first().map(|error| excerpt(&error.path)).unwrap_or_default();
                let failed = Some(FailedObject { object, kind: Arc::clone(&kind.name), path });
                Reply { failed, ..denied(envelope, status, warnings, audit) }
            }
        };
        Reply { verdicts: judgement.verdicts, flip: judgement.flip, ..reply }
    })
}

/// The scale of an object of a kind of ours, in a version.
struct Scaled<'a> {
    kind: &'a Kind,
    at: VersionIndex,
    new: Json<'a>,
    old: Option<Json<'a>>,
}

/// Whoever is asked without having a say.
fn allowed(_: &Scaled<'_>, envelope: &Envelope) -> Reply {
    let response = AdmissionResponse::Allowed { warnings: &[], audit: &[] };
    Reply::new(Outcome::Allow, envelope.uid(), response.write(envelope))
}

/// What holds for all controller versions: a `Scale` does not say which one manages the object.
fn scale(settings: &Settings, scaled: &Scaled<'_>, envelope: &Envelope) -> Reply {
    let Scaled { kind, at, new, old } = scaled;
    let (errors, mut warnings) = admission::scaled(kind, *at, new, old.as_ref());
    let enforcement = settings.enforcement;
    let effect = if enforcement == Enforcement::Enforce { "deny" } else { "would_deny" };
    let count = |rule: &str, effect| Verdict { kind: Arc::clone(&kind.name), rule: rule.to_owned(), effect };
    let mut verdicts: Vec<Verdict> = errors.iter().map(|_| count("scale", effect)).collect();
    verdicts.extend(warnings.iter().map(|_| count("scale", "warn")));
    if enforcement == Enforcement::Audit {
        warnings.clear();
    }
    if errors.is_empty() || enforcement != Enforcement::Enforce {
        let told = errors.iter().filter(|_| enforcement == Enforcement::Warn);
        warnings.extend(told.map(|error| format!("not enforced yet: {error}")));
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let audit = ("would-deny".to_owned(), excerpt(&texts.join("; ")));
        let audit = if texts.is_empty() { Vec::new() } else { vec![audit] };
        let response = AdmissionResponse::Allowed { warnings: &warnings, audit: &audit };
        return Reply { verdicts, ..Reply::new(Outcome::Allow, envelope.uid(), response.write(envelope)) };
    }
    let name = ObjectName::of(new);
    let object = name.to_string();
    let path = errors.first().map(|error| excerpt(&error.path)).unwrap_or_default();
    let failed = Some(FailedObject { object, kind: Arc::clone(&kind.name), path });
    let status = Status::invalid(&kind.group, &kind.kind, name, errors);
    Reply { failed, verdicts, ..denied(envelope, &status, &warnings, &[]) }
}

fn answer(
    kinds: &Kinds,
    body: &[u8],
    scaled: impl FnOnce(&Scaled<'_>, &Envelope) -> Reply,
    decide: impl FnOnce(&Kind, &Write<'_>, &Envelope) -> Reply,
) -> Result<Reply, BadReview> {
    match AdmissionRequest::read(parse(body)?) {
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
        Ok(AdmissionRequest::Write { envelope, group, kind, object, old, dry_run }) => {
            let kind = match kinds.named(&group, &kind) {
                Ok(kind) => kind,
                Err(error) => return Ok(refused(&envelope, &error.to_string())),
            };
            let reply = decide(kind, &Write::new(object, old), &envelope);
            Ok(Reply { flip: reply.flip.filter(|_| !dry_run), ..reply })
        }
        Err(ReviewError::Problem(envelope, problem)) => Ok(refused(&envelope, &problem)),
        Err(ReviewError::Bad(bad)) => Err(bad),
    }
}

/// A request that nobody could judge: the registration is wrong, not the object.
fn refused(envelope: &Envelope, problem: &str) -> Reply {
    denied(envelope, &Status::bad_request(excerpt(problem)), &[], &[])
}

fn denied(envelope: &Envelope, status: &Status, warnings: &[String], audit: &[(String, String)]) -> Reply {
    let body = AdmissionResponse::Denied { status, warnings, audit }.write(envelope);
    let message = Some(status.message().to_owned());
    Reply { message, ..Reply::new(Outcome::Deny, envelope.uid(), body) }
}
