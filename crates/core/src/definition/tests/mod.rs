//! Invalid definitions, and their error messages.

mod chains;
mod differences;
mod expect;
mod files;
mod operations;
mod required;
