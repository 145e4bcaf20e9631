//! Stages as policies: what `/mutate` makes of an object, as expressions that the API server evaluates by itself, so
//! that it goes on while no server of ours is up.

mod cel_fields;
mod cel_place;
mod cel_words;
mod documents;
mod override_policy;
mod reach;
mod unsupported;

pub use documents::{MutationPolicies, mutation_policies};
