//! The rules of the house, as far as a program can read them. What they are for is in ARCHITECTURE.md.

mod arrows;
mod code;
mod documents;
mod graph;
mod language;
mod page_commands;
mod repository;
mod tree;
