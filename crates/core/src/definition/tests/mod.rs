//! Invalid definitions, and their error messages.

mod chains;
mod differences;
mod expect;
mod files;
mod made_up_values;
mod operations;
mod patterns;
mod required;
