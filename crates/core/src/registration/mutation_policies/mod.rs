//! Mutations as policies: the changes of `/mutate` as expressions that the API server evaluates itself, even while no
//! server runs.

mod cel_fields;
mod cel_place;
mod cel_words;
mod documents;
mod override_policy;
mod policy_limits;
mod reach;

pub use documents::{MutationPolicies, mutation_policies};
