//! The rules for language in CONTRIBUTING.md, as far as a program can count them.

mod catalogue;
mod figures;
mod messages;
mod names;
mod pages;
mod prose;
mod rust_text;
