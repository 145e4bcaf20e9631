//! `pointsman kinds`.

mod broken;
mod check;
mod checked;
mod command;
mod junit;
mod samples;
mod summary;
#[cfg(test)]
mod tests;
mod trial;

pub(crate) use command::{KindsCommandArgs, run};
