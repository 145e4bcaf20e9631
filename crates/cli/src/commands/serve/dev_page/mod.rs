//! The page of `serve --dev`: a browser shows what becomes of an object as it is typed.

mod answers;
mod sample;
mod tried;

pub use answers::DevAnswers;
