//! `pointsman disable`: its flags, and what it tells.

mod command;
mod output;

pub(crate) use command::{DisableArgs, run};
