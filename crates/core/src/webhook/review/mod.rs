//! The wire format of reviews: requests of the API server, and the possible responses. Other modules make the
//! decisions.

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
