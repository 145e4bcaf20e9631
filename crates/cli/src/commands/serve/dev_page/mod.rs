//! The page of `serve --dev`: a browser shows what becomes of an object as it is typed.

mod answers;
mod sample;
mod try_request;

pub use answers::DevAnswers;
