//! The workbench of `serve --dev`: a definition, an object, and the results of both while they are typed.

mod answers;
mod definition_edit;
mod sample;
mod try_request;

pub use answers::DevAnswers;
