//! Random kinds, for tests of several crates.

pub mod random_kinds;
