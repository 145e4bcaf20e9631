//! What the API server does to an object of a CRD: to ours when we answer, to a client's when it writes, to a stored
//! one when it is read.
//!
//! The order is that of `apiextensions-apiserver pkg/apiserver/customresource_handler.go` (1.36):
//!
//! ```text
//! our answer        numbers, unknown fields go, nulls go                    -> [`answered`]
//! a client's write  numbers, unknown fields go, nulls go, defaults; valid?  -> [`written`]
//! stored, read      the same with the stored version's schema; nobody asks whether it is valid
//! ```
//!
//! The client that wrote is answered what was stored, read again. What an update leaves as it was is not looked at
//! again ([`newly_invalid`]).
//!
//! Whoever writes is warned of [`unknown_fields`], or refused by kubectl for them; and refused for [`bad_metadata`].
//!
//! So an answer is not defaulted and not validated. What is written is validated at the version it is written in only.

mod coerce;
mod metadata;
mod numbers;
mod unknown;
mod validate;

pub use coerce::{WriteError, answered, fill, read, written};
pub(super) use metadata::ANNOTATIONS;
pub use metadata::{BadMetadata, bad_metadata};
pub use numbers::{Undecodable, decode};
pub use unknown::{UnknownField, unknown_fields};
pub(super) use validate::invalid_itself;
pub use validate::{Constraint, Invalid, invalid, newly_invalid};
