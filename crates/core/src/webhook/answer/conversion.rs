//! Answers a `ConversionReview`: every object converted, or a sentence that names those that cannot be.

use crate::apimachinery::{ObjectName, excerpt};
use crate::webhook::convert::{self, ConvertError, Converted, Metadata, Object};
use crate::webhook::reply::{Conversions, Notice, Outcome, Reply};
use crate::webhook::review::{
    BadReview, ConversionRequest, ConvertedObjects, Envelope, Unread, conversion_failure, parse,
};
use crate::{json::Json, webhook::kinds::Kinds};

/// Answers a body. Fails where there is no uid to answer to.
pub(crate) fn convert(kinds: &Kinds, metadata: Metadata, body: &[u8]) -> Result<Reply, BadReview> {
    match ConversionRequest::read(parse(body, ConversionRequest::LEVELS)?) {
        Ok(request) => Ok(answer(kinds, metadata, &request)),
        Err(Unread::Problem(envelope, problem)) => Ok(failure(&envelope, problem)),
        Err(Unread::Bad(bad)) => Err(bad),
    }
}

fn answer(kinds: &Kinds, metadata: Metadata, request: &ConversionRequest<'_>) -> Reply {
    let ConversionRequest { envelope, desired, .. } = request;
    let objects = request.objects();
    let size = objects.iter().map(|object| object.text().len()).sum();
    let mut converted = ConvertedObjects::new(envelope, size);
    let mut failures = Vec::new();
    let mut conversions: Vec<Conversions> = Vec::new();
    let mut notices = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        match convert_one(kinds, metadata, object, desired) {
            Ok(Some((one, counted))) => {
                converted.push(&one.text);
                if one.staged {
                    let object = ObjectName::of(object).to_string();
                    notices.push(Notice { event: "staged_taken_as_completed", object });
                }
                count(&mut conversions, counted);
            }
            Ok(None) => converted.push(&object.text()),
            Err(error) => {
                failures.push(format!("{} (object {index}): {error}", ObjectName::of(object)));
            }
        }
    }
    if failures.is_empty() {
        let reply = Reply::new(Outcome::Convert, envelope.uid(), converted.finish());
        return Reply { conversions, notices, ..reply };
    }
    let named: Vec<String> = failures.iter().take(NAMED).map(|text| excerpt(text)).collect();
    let more = match failures.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = format!(
        "cannot convert {} of {} objects to {desired}: {}{more}",
        failures.len(),
        objects.len(),
        named.join("; ")
    );
    failure(envelope, message)
}

/// The levels of an object that are opened in one pass: its own members, and those of its metadata, spec and status.
const OPENED: usize = 2;

/// How many failing objects a message names: enough for a person, small enough for a log.
const NAMED: usize = 20;

fn failure(envelope: &Envelope, message: String) -> Reply {
    let body = conversion_failure(envelope, &message);
    Reply { message: Some(message), ..Reply::new(Outcome::Fail, envelope.uid(), body) }
}

/// Converts one object. Nothing if it is in the desired version already: it stays as it is.
fn convert_one(
    kinds: &Kinds,
    metadata: Metadata,
    object: &Json<'_>,
    desired: &str,
) -> Result<Option<(Converted, Conversions)>, ConvertError> {
    let object = Object::open(object.opened(OPENED))?;
    let kind = kinds.of(&object)?;
    object.version(kind)?;
    let to = kind
        .versions
        .find(|version| version.api_version == desired)
        .ok_or_else(|| ConvertError::unknown_version("desiredAPIVersion", desired, kind))?;
    if object.api_version == desired {
        return Ok(None);
    }
    let converted = convert::convert(kind, object, to, metadata)?;
    let counted = Conversions {
        kind: kind.name.clone(),
        from: converted.from.clone(),
        to: kind.version_at(to).name.clone(),
        objects: 1,
    };
    Ok(Some((converted, counted)))
}

/// Objects of one kind that came in one version are counted together: all of them go to the same one.
fn count(conversions: &mut Vec<Conversions>, one: Conversions) {
    let same = |counted: &&mut Conversions| counted.kind == one.kind && counted.from == one.from;
    match conversions.iter_mut().find(same) {
        Some(counted) => counted.objects += one.objects,
        None => conversions.push(one),
    }
}
