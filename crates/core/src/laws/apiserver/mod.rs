//! A model of how the API server processes an object of a CRD: responses of the webhook, writes of a client, and stored
//! objects.
//!
//! The order is that of `apiextensions-apiserver pkg/apiserver/customresource_handler.go` (1.36):
//!
//! ```text
//! webhook response  numbers, prune unknown fields and nulls                    -> [`answered`]
//! a client's write  numbers, prune unknown fields and nulls, default, validate -> [`written`]
//! stored, read      as a write with the schema of the storage version, without validation
//! ```
//!
//! The response to a client's write is the stored object, read again. Unchanged values of an update are not validated
//! again ([`newly_invalid`]).
//!
//! Clients are warned of [`unknown_fields`], or kubectl rejects them. [`bad_metadata`] is rejected.
//!
//! So a webhook response is neither defaulted nor validated, and a write is validated only at its own version.

mod coerce;
mod keywords;
mod metadata;
mod numbers;
mod unknown;
mod validate;

pub use coerce::{WriteError, answered, fill, read, written};
pub use keywords::matcher;
pub(super) use metadata::ANNOTATIONS;
pub use metadata::{BadMetadata, bad_metadata};
pub use numbers::{Undecodable, decode};
pub use unknown::{UnknownField, unknown_fields};
pub(super) use validate::invalid_itself;
pub use validate::{Constraint, Invalid, Matches, invalid, newly_invalid, refused};
