//! `pointsman disable`: flags and output.

mod command;
mod output;

pub(crate) use command::{DisableArgs, run};
