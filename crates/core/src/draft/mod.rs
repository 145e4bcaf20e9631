//! Drafts of definitions: guesses a definition from the schemas of a CRD, as a start for its author.
//!
//! ```text
//! definition_draft  of a CRD
//! fix               of what an existing definition lacks
//! merge             of two revisions of a CRD, for a draft
//!   guess        operations between neighbouring versions, by names, places and types
//!   completion   proposals of the reported problems, until the definition loads; separation is the last resort
//!   outline      the definition in the meantime: step_outline, entry, acceptance, question
//!     line_index, flow   its text
//!     review             its questions and reasons for the author
//!     existing_text      its new entries in the text of an existing definition
//! ```

mod acceptance;
mod arrangement;
mod completion;
mod definition_draft;
mod entry;
mod existing_text;
mod fix;
mod flow;
mod guess;
mod line_index;
mod merge;
mod outline;
mod question;
mod review;
mod separation;
mod step_outline;
mod version_order;

pub use definition_draft::{Draft, DraftError};
pub use fix::{Fix, FixError};
pub use merge::{MergeError, MergedCrd};
pub use review::review_warning;
