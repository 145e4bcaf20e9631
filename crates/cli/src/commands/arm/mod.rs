//! `pointsman arm`: its flags, and the reviews that every endpoint is tested with.

mod command;
mod probes;
mod told;

pub(crate) use command::{ArmArgs, run};
