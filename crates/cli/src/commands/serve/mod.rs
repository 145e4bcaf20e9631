//! The flags of `pointsman serve`. The implementation is in the binary.

mod args;
mod definition_files;
mod dev_page;
mod limits;
mod trial;

pub use args::ServeArgs;
pub use definition_files::DefinitionFiles;
pub use dev_page::DevAnswers;
pub use limits::LimitArgs;
