//! Bad definitions, and what a person is told about them.

mod chains;
mod differences;
mod expect;
mod files;
mod operations;
mod required;
