//! Bad definitions, and what a person is told about them.

mod differences;
mod expect;
mod files;
mod operations;
mod required;
