//! The page of `serve --dev`: shows the conversion of an object while it is typed.

mod answers;
mod sample;
mod try_request;

pub use answers::DevAnswers;
