//! What we decide: reviews in, reviews out. Nothing here reads a file, a clock or a socket.
//!
//! [`Webhook`] is the door. Behind it, `review` reads what is asked and writes what is answered, `convert` and
//! `admission` decide about one object, and `answer` leads a request through them.

mod admission;
mod alignment;
mod handlers;
mod caller;
mod changes;
mod convert;
mod costs;
mod counts;
mod webhook;
mod endpoint;
mod facts;
mod handle_error;
mod kind_conversion;
mod kinds;
mod mutations;
mod reply;
mod review;
mod rollout_hash;
mod capacity;
#[cfg(test)]
mod tests;
mod weight;

pub use crate::apimachinery::{FieldError, Reason, refusal};
pub use admission::{ControllerVersion, Enforcement, Flip, Judgement, NotAVersion, Settings, Verdict, unseen_by_scale};
pub(crate) use admission::{mistaken_label, same_field};
pub use convert::{Change, ConvertError, Converted, Facts, AnnotationBudget, INCOMPLETE, Metadata, is_kept};
pub use webhook::Webhook;
pub use endpoint::Endpoint;
pub use facts::{FactUnknown, KnownFacts, FactValue};
pub use handle_error::HandleError;
pub use kind_conversion::{ReplaceError, OtherKind};
pub use kinds::DefinedTwice;
pub use reply::{Conversions, FailedObject, ConversionWarning, Outcome, Reply};
pub use review::{BadReview, PatchOperation};
pub(crate) use rollout_hash::digest;
pub use rollout_hash::{HASH_SCHEMA, Preimage};
pub use weight::weight;
