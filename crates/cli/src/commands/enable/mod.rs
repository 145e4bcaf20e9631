//! `pointsman enable`: flags, and the test reviews for every endpoint.

mod command;
mod output;
mod probes;

pub(crate) use command::{EnableArgs, run};
