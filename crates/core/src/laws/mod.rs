//! The laws of conversion as a program: objects are made from a kind's own schemas, converted, changed and written as
//! clients and the API server do, and judged. What breaks a law is made as small as it gets.
//!
//! Everything here stands at the public door: it converts by [`Webhook::convert`](crate::webhook::Webhook::convert) and
//! reads schemas as JSON, so it judges any engine behind that door. Of a definition's compiled form it asks only where
//! the operations are (`focus`), so that objects of a large schema are about these.
//!
//! ```text
//! seed -> generate, objects -> table -> shrink, fault -> Broken
//!                                |
//!                                +- one law: round_trips, carried, hostile, writes, deletions, items, ...
//!                                +- apiserver: what becomes of an answer before anybody reads it
//! ```

pub mod apiserver;
mod carry;
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
pub mod random_kinds;
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
pub use objects::{Make, ObjectSource, schema_of};
pub use preview::{DIFFERENCES, Preview, RoundTripDiff, preview};
pub use random::Random;
pub use shrink::shrink;
pub use table::{LAWS, Law};
pub use value::{Segment, Value, difference, differences, differing, shown, way};
