//! Handles a `ConversionReview`: all objects converted, or a message that names the objects that failed.

use std::sync::Arc;

use crate::apimachinery::{ObjectName, excerpt};
use crate::webhook::caller::{Caller, ClientDisconnected};
use crate::webhook::convert::{self, AnnotationBudget, ConversionEvents, ConvertError, Metadata, Object, StringArena};
use crate::webhook::handle_error::HandleError;
use crate::webhook::reply::{ConversionWarning, Conversions, FailedObject, Outcome, Reply};
use crate::webhook::review::{
    ConversionRequest, ConvertedObjects, Envelope, ReviewError, StreamedObjects, conversion_failure, parse,
};
use crate::{json::Json, webhook::kinds::Kinds};

/// Handles a body. Fails if the body has no uid, or the client has disconnected.
pub(crate) fn convert(
    kinds: &Kinds,
    metadata: Metadata,
    caller: &Caller<'_>,
    body: &[u8],
) -> Result<Reply, HandleError> {
    if let Some((request, mut reader)) = ConversionRequest::read_to_objects(body) {
        let size = reader.left();
        let mut objects = StreamedObjects::new(&mut reader);
        let reply = answer((kinds, metadata), caller, &request, size, &mut objects)?;
        if objects.is_whole() {
            return Ok(reply);
        }
    }
    match ConversionRequest::read(parse(body)?) {
        Ok(request) => Ok(answer((kinds, metadata), caller, &request, request.size(), &mut request.objects())?),
        Err(ReviewError::Problem(envelope, problem)) => Ok(failure(&envelope, problem)),
        Err(ReviewError::Bad(bad)) => Err(bad.into()),
    }
}

/// Responds with the objects of a request of this total size.
fn answer<'j>(
    (kinds, metadata): (&Kinds, Metadata),
    caller: &Caller<'_>,
    request: &ConversionRequest<'_>,
    size: usize,
    objects: &mut impl Iterator<Item = (&'j str, Json<'j>)>,
) -> Result<Reply, ClientDisconnected> {
    let ConversionRequest { envelope, desired, .. } = request;
    let mut converted = Some(ConvertedObjects::new(envelope, size));
    let mut failures = Failures::default();
    let mut conversions: Vec<Conversions> = Vec::new();
    let mut notices = Vec::new();
    let mut count = 0_usize;
    for (text, object) in objects {
        caller.waits()?;
        let mut unanswered = String::new();
        let answers = (&mut converted, &mut unanswered);
        let room = move |size: usize| match answers {
            (Some(converted), _) => converted.room(size, text.len()),
            (None, unanswered) => unanswered,
        };
        match convert_one((kinds, metadata), caller, object, desired, room) {
            Ok(one) => {
                // A partial response is not possible. After the first failure, only failures are collected.
                let Some(converted) = &mut converted else {
                    count += 1;
                    continue;
                };
                match one {
                    Some((one, counted)) => {
                        for event in events(&one) {
                            notices.push(ConversionWarning {
                                event,
                                object: ObjectName::of(&Json::borrowed(text)).to_string(),
                            });
                        }
                        add(&mut conversions, counted);
                    }
                    None => converted.push(text),
                }
            }
            Err(failed) => {
                converted = None;
                notices = Vec::new();
                failures.add(&Json::borrowed(text), count, *failed);
            }
        }
        count += 1;
    }
    // An aborted decision resembles an object that cannot be converted.
    caller.waited()?;
    let Some(converted) = converted else {
        let message = failures.message(count, desired);
        let Failures { first, counted, .. } = failures;
        return Ok(Reply { failed: first, failures: counted, ..failure(envelope, message) });
    };
    let reply = Reply::new(Outcome::Convert, envelope.uid(), converted.finish());
    Ok(Reply { conversions, notices, ..reply })
}

/// Events of an object that do not change the response.
fn events(one: &ConversionEvents) -> impl Iterator<Item = &'static str> {
    let of_its_size = match one.fit {
        AnnotationBudget::Well => None,
        AnnotationBudget::Barely => Some("kept_near_limit"),
        AnnotationBudget::Not => Some("answered_incomplete"),
    };
    one.staged.then_some("staged_taken_as_completed").into_iter().chain(of_its_size)
}

/// The objects that failed to convert: all are counted, and some are named.
#[derive(Default)]
struct Failures {
    named: Vec<String>,
    count: usize,
    first: Option<FailedObject>,
    counted: Vec<Conversions>,
}

impl Failures {
    fn add(&mut self, object: &Json<'_>, index: usize, Failed { of, error }: Failed) {
        self.count += 1;
        if self.named.len() < NAMED {
            let name = ObjectName::of(object).to_string();
            self.named.push(excerpt(&format!("{name} (object {index}): {error}")));
            if self.first.is_none() {
                let path = excerpt(error.path());
                self.first = Some(FailedObject { object: name, kind: Arc::clone(&of.kind), path });
            }
        }
        add(&mut self.counted, of);
    }

    fn message(&self, of: usize, desired: &str) -> String {
        let more = match self.count.saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let (desired, named) = (excerpt(desired), self.named.join("; "));
        format!("cannot convert {} of {of} objects to {desired}: {named}{more}", self.count)
    }
}

/// The maximum number of failed objects in a message: enough for a person, small enough for a log.
const NAMED: usize = 20;

fn failure(envelope: &Envelope, message: String) -> Reply {
    let body = conversion_failure(envelope, &message);
    Reply { message: Some(message), ..Reply::new(Outcome::Fail, envelope.uid(), body) }
}

/// Why one object failed to convert, and its counter.
struct Failed {
    of: Conversions,
    error: ConvertError,
}

/// Converts one object and writes it to the response. `None` if it is already in the desired version.
fn convert_one<'o>(
    (kinds, metadata): (&Kinds, Metadata),
    caller: &Caller<'_>,
    object: Json<'_>,
    desired: &str,
    room: impl FnOnce(usize) -> &'o mut String,
) -> Result<Option<(ConversionEvents, Conversions)>, Box<Failed>> {
    let failed = |of, error| Box::new(Failed { of, error });
    let unknown = |error| failed(counted("unknown", "unknown", "unknown"), error);
    let texts = StringArena::default();
    let object = Object::open(object, &texts).map_err(unknown)?.for_caller(Some(caller));
    let kind = kinds.of(&object).map_err(unknown)?;
    let of = |from: &Arc<str>, to: &Arc<str>| {
        let (from, to) = (Arc::clone(from), Arc::clone(to));
        Conversions { kind: Arc::clone(&kind.name), from, to, objects: 1 }
    };
    let nothing = || Arc::from("unknown");
    let from = object.version(kind).map_err(|error| failed(of(&nothing(), &nothing()), error))?;
    let from = &kind.version_at(from).name;
    let Some(to) = kind.versions.find(|version| version.api_version == desired) else {
        let error = ConvertError::unknown_version("desiredAPIVersion", desired, kind);
        return Err(failed(of(from, &nothing()), error));
    };
    if object.api_version == desired {
        return Ok(None);
    }
    let of = of(from, &kind.version_at(to).name);
    match convert::convert_into(kind, object, to, metadata, room) {
        Ok(events) => Ok(Some((events, of))),
        Err(error) => Err(failed(of, error)),
    }
}

/// A count of one object.
fn counted(kind: &str, from: &str, to: &str) -> Conversions {
    Conversions { kind: kind.into(), from: from.into(), to: to.into(), objects: 1 }
}

/// Adds to the count of the same kind and versions.
fn add(conversions: &mut Vec<Conversions>, one: Conversions) {
    let same =
        |counted: &&mut Conversions| (&counted.kind, &counted.from, &counted.to) == (&one.kind, &one.from, &one.to);
    match conversions.iter_mut().find(same) {
        Some(counted) => counted.objects += one.objects,
        None => conversions.push(one),
    }
}
