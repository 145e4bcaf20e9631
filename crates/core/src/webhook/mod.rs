//! The decisions of the webhook: reviews in, reviews out. This module reads no files, clocks or sockets.
//!
//! [`Webhook`] is the entry point. `review` parses requests and writes responses, `convert` and `admission` decide
//! about single objects, and `handlers` connects them.

mod admission;
mod alignment;
mod caller;
mod capacity;
mod changes;
mod convert;
mod costs;
mod counts;
mod endpoint;
mod entry;
mod facts;
mod handle_error;
mod handlers;
mod kind_conversion;
mod kinds;
mod mutations;
mod reply;
mod request;
mod review;
mod rollout_hash;
#[cfg(test)]
mod tests;
mod weight;

pub use crate::apimachinery::{FieldError, Reason, refusal};
pub use admission::{ControllerVersion, Enforcement, Flip, Judgement, NotAVersion, Settings, Verdict, unseen_by_scale};
pub(crate) use admission::{mistaken_label, same_field};
pub use convert::{AnnotationBudget, Change, ConvertError, Converted, Facts, INCOMPLETE, Metadata, is_kept};
pub use endpoint::Endpoint;
pub use entry::Webhook;
pub use facts::{FactUnknown, FactValue, KnownFacts};
pub use handle_error::HandleError;
pub use kind_conversion::{OtherKind, ReplaceError};
pub use kinds::DefinedTwice;
pub use reply::{ConversionWarning, Conversions, FailedObject, Outcome, Reply};
pub use request::Request;
pub use review::{BadReview, PatchOperation};
pub(crate) use rollout_hash::digest;
pub use rollout_hash::{HASH_SCHEMA, Preimage};
pub use weight::weight;
