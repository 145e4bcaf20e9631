//! `pointsman enable`: its flags, and the reviews that every endpoint is tested with.

mod command;
mod output;
mod probes;

pub(crate) use command::{EnableArgs, run};
