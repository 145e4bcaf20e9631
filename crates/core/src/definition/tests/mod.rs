//! Invalid definitions, and their error messages.

mod differences;
mod expect;
mod files;
mod made_up_values;
mod object_lifetimes;
mod operations;
mod patterns;
mod required;
