//! The flags of `pointsman serve`. The implementation is in the binary.

mod args;
mod definitions;
mod dev_page;
mod error_output;
mod facts;
mod limits;
mod trial;

pub use args::ServeArgs;
pub use definitions::{ServedDefinitions, ServedKinds};
pub use dev_page::DevAnswers;
pub use facts::{FactFollower, FactStatus};
pub use limits::LimitArgs;
