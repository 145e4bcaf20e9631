//! Reviews as they are on the wire: what the API server asks, and the forms that an answer may have. What is answered
//! is decided elsewhere.

mod admission;
mod body;
mod conversion;
mod envelope;
mod patch;

pub(super) use admission::{AdmissionRequest, AdmissionResponse};
pub use body::BadReview;
pub(super) use conversion::{ConversionRequest, ConvertedObjects, StreamedObjects, conversion_failure};
pub(super) use envelope::{Envelope, ReviewError, parse};
pub use patch::PatchOperation;
