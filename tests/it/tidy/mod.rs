//! The rules for the repository that a program can check. ARCHITECTURE.md and CONTRIBUTING.md explain them.

mod arrows;
mod code;
mod documents;
mod graph;
mod language;
mod page_commands;
mod repository;
mod tree;
