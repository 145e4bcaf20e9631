//! `pointsman kinds test`: recorded conversions, compared with what the definitions do now.

mod case;
mod case_file;
mod command;
mod comparison;

pub(crate) use case_file::recorded_objects;
pub(super) use command::{TestArgs, test};
