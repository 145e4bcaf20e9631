//! Drafts of definitions: guesses a definition from the schemas of a CRD, as a start for its author.
//!
//! ```text
//! definition_draft
//!   guess        operations between neighbouring versions, by names, places and types
//!   completion   proposals of the reported problems, until the definition loads; separation is the last resort
//!   outline      the definition in the meantime: entry, acceptance, question; line_index and flow write it
//! ```

mod acceptance;
mod arrangement;
mod completion;
mod definition_draft;
mod entry;
mod flow;
mod guess;
mod line_index;
mod outline;
mod question;
mod separation;
mod version_order;

pub use definition_draft::{Draft, DraftError};
