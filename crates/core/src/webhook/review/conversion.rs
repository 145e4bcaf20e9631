//! `ConversionReview`: objects in, the same objects in another version out, or an error message.
//!
//! Source: `apiextensions-apiserver pkg/apis/apiextensions/v1/types.go` and
//! `pkg/apiserver/conversion/webhook_converter.go`.

use std::borrow::Cow;

use super::envelope::{self, Envelope, Review, ReviewError};
use crate::json::{Json, Members, Reader, unescape};
use crate::webhook::capacity::make_room;

/// Objects, and their desired version.
pub(crate) struct ConversionRequest<'j> {
    pub(crate) envelope: Envelope,
    /// `group/version`.
    pub(crate) desired: Cow<'j, str>,
    /// The text of a list.
    objects: &'j str,
}

impl<'j> ConversionRequest<'j> {
    /// Parses a review, or returns the missing or invalid member.
    pub(crate) fn read(json: Json<'j>) -> Result<Self, ReviewError> {
        let (envelope, mut request) = envelope::read(Review::Conversion, json)?;
        let desired = match request.take("desiredAPIVersion") {
            Some(Json::Text(Cow::Borrowed(text))) if text.starts_with('"') => unescape(text),
            _ => {
                let problem = "request.desiredAPIVersion: must be a string".to_owned();
                return Err(ReviewError::Problem(envelope, problem));
            }
        };
        match request.take("objects") {
            Some(Json::Text(Cow::Borrowed(objects))) if objects.starts_with('[') => {
                Ok(Self { envelope, desired, objects })
            }
            Some(other) => {
                let problem = format!("request.objects: must be a list, not {}", other.type_name());
                Err(ReviewError::Problem(envelope, problem))
            }
            None => Err(ReviewError::Problem(envelope, "request.objects: is missing".to_owned())),
        }
    }

    /// Parses a review up to its objects. Succeeds if the other members precede them, as API servers write it. Then
    /// the objects are parsed one by one, and their list is not scanned before.
    pub(crate) fn read_to_objects(body: &'j [u8]) -> Option<(Self, Reader<'j>)> {
        let mut reader = Reader::new(std::str::from_utf8(body).ok()?);
        reader.open(b'{')?;
        let mut review = envelope::members_before("request", &mut reader)?;
        reader.open(b'{')?;
        let mut request = envelope::members_before("objects", &mut reader)?;
        reader.open(b'[')?;
        request.add("objects", Json::borrowed("[]"));
        review.add("request", Json::Object(request));
        Some((Self::read(Json::Object(review)).ok()?, reader))
    }

    /// Iterates over the objects of a fully parsed review, which may be millions. Returns the text of each, and the
    /// object parsed to the depth that conversions need.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (&'j str, Json<'j>)> {
        Json::each_element(self.objects, OPENED)
    }

    /// The size of the objects in bytes, including separators.
    pub(crate) fn size(&self) -> usize {
        self.objects.len()
    }
}

/// The objects of a review that is parsed up to them: see [`ConversionRequest::read_to_objects`].
pub(crate) struct StreamedObjects<'r, 'j> {
    reader: &'r mut Reader<'j>,
    is_whole: bool,
}

impl<'r, 'j> StreamedObjects<'r, 'j> {
    pub(crate) fn new(reader: &'r mut Reader<'j>) -> Self {
        Self { reader, is_whole: false }
    }

    /// Returns whether the whole review was valid JSON, after its objects have been read.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

impl<'j> Iterator for StreamedObjects<'_, 'j> {
    type Item = (&'j str, Json<'j>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.element()? {
            return self.reader.value(OPENED);
        }
        self.is_whole = self.reader.ends(AROUND);
        None
    }
}

/// The nesting depth of the list: the request and the review.
const AROUND: usize = 2;

/// The levels of an object that are parsed in one pass: its own members, and those of its metadata, spec and status.
const OPENED: usize = 2;

/// The response with all converted objects in their order. It is written incrementally, and dropped on the first
/// failure, because a partial response is not possible.
pub(crate) struct ConvertedObjects {
    body: String,
    is_empty: bool,
    /// The bytes of all requested objects, and of those that are already converted.
    requested_size: usize,
    answered: usize,
}

impl ConvertedObjects {
    /// A response with capacity for objects of this total size.
    pub(crate) fn new(envelope: &Envelope, size: usize) -> Self {
        let mut body = envelope.open(size);
        body.push_str(",\"result\":{\"status\":\"Success\"},\"convertedObjects\":[");
        Self { body, is_empty: true, requested_size: size, answered: 0 }
    }

    /// Adds an object unchanged.
    pub(crate) fn push(&mut self, object: &str) {
        self.room(object.len(), object.len()).push_str(object);
    }

    /// Starts an object of this length, which was sent with `sent` bytes, and returns the buffer.
    pub(crate) fn room(&mut self, length: usize, sent: usize) -> &mut String {
        if !self.is_empty {
            self.body.push(',');
        }
        self.is_empty = false;
        self.answered += sent + 1;
        let length = self.body.len() + length + CLOSING.len();
        make_room(&mut self.body, length, [self.answered, self.requested_size]);
        &mut self.body
    }

    /// Finishes the response.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.body.push_str(CLOSING);
        self.body.into_bytes()
    }
}

/// Closes the list, the response and the review.
const CLOSING: &str = "]}}";

/// The response for a failure. The API server reads only the message.
pub(crate) fn conversion_failure(envelope: &Envelope, message: &str) -> Vec<u8> {
    let mut result = Members::default();
    result.add("status", Json::string("Failure"));
    result.add("message", Json::string(message));
    let mut response = Members::default();
    response.add("result", Json::Object(result));
    response.add("convertedObjects", Json::Array(Vec::new()));
    envelope.answer(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Responds with objects of these sizes, before and after. Returns the bytes of the response, its final capacity,
    /// and the number of reallocations.
    fn answered(sizes: &[(usize, usize)]) -> (usize, usize, usize) {
        let review = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview",
            "request":{"uid":"u","desiredAPIVersion":"example.com/v2","objects":[]}}"#;
        let Ok(ConversionRequest { envelope, .. }) = ConversionRequest::read(Json::borrowed(review)) else {
            panic!("{review}")
        };
        let requested_size = sizes.iter().map(|(sent, _)| sent + 1).sum::<usize>() + 1;
        let mut answer = ConvertedObjects::new(&envelope, requested_size);
        let (mut room, mut moved) = (answer.body.capacity(), 0);
        for (sent, length) in sizes {
            answer.room(*length, *sent).push_str(&"x".repeat(*length));
            moved += usize::from(answer.body.capacity() != room);
            room = answer.body.capacity();
        }
        let whole = answer.finish();
        (whole.len(), whole.capacity(), moved)
    }

    /// A reallocation doubles the memory, and unused capacity is memory that is not accounted for.
    #[test]
    fn even_growth_reallocates_once() {
        for length in 10..21 {
            let (whole, room, moved) = answered(&vec![(5, length); 10_000]);
            assert_eq!(moved, 1, "{length}");
            assert!((whole..whole + whole / 50).contains(&room), "{length}: {room} for {whole}");
        }
    }

    #[test]
    fn fitting_response_never_reallocates() {
        let (empty, room, _) = answered(&[(5, 0)]);
        assert_eq!(answered(&[(5, room - empty)]), (room, room, 0));
        assert_eq!(answered(&[(5, room - empty + 1)]).2, 1);
    }

    #[test]
    fn late_growth_reallocates_rarely() {
        let (whole, room, moved) = answered(&[vec![(100_000, 10)], vec![(10, 200); 1000]].concat());
        assert!(moved < 8 && room < whole + whole / 4, "moved {moved} times, {room} for {whole}");
    }
}
