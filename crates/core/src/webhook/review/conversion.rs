//! `ConversionReview`: objects in, the same objects in another version out, or one sentence.
//!
//! Source: `apiextensions-apiserver pkg/apis/apiextensions/v1/types.go` and `pkg/apiserver/conversion/webhook_converter.go`.

use super::envelope::{self, Envelope, Review, Unread};
use crate::json::{Json, Members};

/// Objects, and the version they are wanted in.
pub(crate) struct ConversionRequest<'j> {
    pub(crate) envelope: Envelope,
    /// `group/version`.
    pub(crate) desired: String,
    objects: Json<'j>,
}

impl<'j> ConversionRequest<'j> {
    /// What is read of a body at once: the review, the request, and where each of its objects is. Those are opened one by
    /// one, so that thousands of them take no more memory than one.
    pub(crate) const LEVELS: usize = 3;

    /// Reads a review, or says what is missing or of another type.
    pub(crate) fn read(json: Json<'j>) -> Result<Self, Unread> {
        let (envelope, mut request) = envelope::read(Review::Conversion, json)?;
        let Some(desired) = request.get("desiredAPIVersion").and_then(Json::as_str) else {
            let problem = "request.desiredAPIVersion: must be a string".to_owned();
            return Err(Unread::Problem(envelope, problem));
        };
        let desired = desired.into_owned();
        match request.take("objects") {
            Some(objects) if objects.is_array() => Ok(Self { envelope, desired, objects }),
            Some(other) => {
                let problem = format!("request.objects: must be a list, not {}", other.type_name());
                Err(Unread::Problem(envelope, problem))
            }
            None => Err(Unread::Problem(envelope, "request.objects: is missing".to_owned())),
        }
    }

    /// The objects, unread.
    pub(crate) fn objects(&self) -> Vec<Json<'_>> {
        self.objects.elements()
    }
}

/// The answer that holds every object that was asked for, in the order in which they came. It is written as objects
/// come, and dropped where one fails: there is no answer with some of them.
pub(crate) struct ConvertedObjects {
    body: String,
    is_empty: bool,
}

impl ConvertedObjects {
    /// An answer with room for objects of so many bytes together.
    pub(crate) fn new(envelope: &Envelope, size: usize) -> Self {
        let mut body = envelope.open(size);
        body.push_str(",\"result\":{\"status\":\"Success\"},\"convertedObjects\":[");
        Self { body, is_empty: true }
    }

    /// Adds an object's text.
    pub(crate) fn push(&mut self, object: &str) {
        if !self.is_empty {
            self.body.push(',');
        }
        self.is_empty = false;
        self.body.push_str(object);
    }

    /// The answer, whole.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.body.push_str("]}}");
        self.body.into_bytes()
    }
}

/// The answer that says why nothing was converted. Of all it could hold, the API server reads only the message.
pub(crate) fn conversion_failure(envelope: &Envelope, message: &str) -> Vec<u8> {
    let mut result = Members::default();
    result.set("status", Json::string("Failure"));
    result.set("message", Json::string(message));
    let mut response = Members::default();
    response.set("result", Json::Object(result));
    response.set("convertedObjects", Json::Array(Vec::new()));
    envelope.answer(response)
}
