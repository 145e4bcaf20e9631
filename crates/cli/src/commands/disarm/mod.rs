//! `pointsman disarm`: its flags, and what it tells.

mod command;
mod told;

pub(crate) use command::{DisarmArgs, run};
