//! The laws of conversion as a program: objects are generated from a kind's own schemas, converted, edited and written
//! as by clients and the API server, and judged. A counter-example is shrunk.
//!
//! The laws use only the public interface: they convert with [`Webhook::convert`](crate::webhook::Webhook::convert) and
//! read schemas as JSON, so they can judge any engine. From a compiled definition they read only the places of the
//! operations (`focus`), so that objects of a large schema cover these.
//!
//! ```text
//! seed -> generate, objects -> table -> shrink, fault -> Broken
//!                                |
//!                                +- one law: round_trips, carry, hostile, writes, deletions, items, ...
//!                                +- apiserver: how the API server processes a response
//! ```

pub mod apiserver;
mod carry;
mod case;
mod check;
mod conversion_path;
mod coverage;
mod deletions;
mod edits;
mod fault;
mod focus;
mod forgery;
mod generate;
mod hidden_values;
mod hostile;
mod independence;
mod items;
mod objects;
mod operation_names;
mod paths;
mod preview;
mod random;
mod rollouts;
mod round_trips;
pub mod schema;
mod shrink;
mod stepwise;
mod table;
mod value;
mod writes;

pub use check::{Broken, CheckOptions, LawResult, Report, Survey, check, survey};
pub use conversion_path::{ours, without_ours};
pub use coverage::UncoveredOperation;
pub use edits::edited;
pub use generate::{Dictionary, FillRatio, anything, valid};
pub use hidden_values::HiddenValue;
pub use objects::{Make, ObjectSource, has_status_subresource, schema_of};
pub use preview::{DIFFERENCES, Preview, RoundTripDiff, preview};
pub use random::Random;
pub use shrink::shrink;
pub use table::{LAWS, Law};
pub use value::{Segment, Value, difference, differences, differing, shown, way};
