//! `pointsman kinds`.

mod check;
mod command;

pub(crate) use command::{KindsCommandArgs, run};
