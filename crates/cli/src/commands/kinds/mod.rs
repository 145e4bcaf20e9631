//! `pointsman kinds`.

mod check;
mod check_result;
mod command;
mod comparison;
mod docs;
mod draft;
mod golden;
mod hidden_values;
mod junit;
mod samples;
mod sarif;
mod summary;
#[cfg(test)]
mod tests;
mod trial;
mod violations;

pub(crate) use command::{KindsCommandArgs, run};
pub(crate) use golden::recorded_objects;
#[cfg(test)]
pub(crate) use tests::thing;
pub(crate) use trial::CASES;
