//! `pointsman roll`: a fleet goes from one controller version to another.

mod change;
mod command;
mod exposition;
mod known;
mod lease;
mod look;
mod plan;
mod run;
mod tables;
mod versions;

pub(crate) use command::{RollArgs, run};
