//! `pointsman status`: the state of kinds in a cluster.

mod command;
mod metrics;
mod survey;
mod text_output;
mod unknown;

pub(crate) use command::{StatusArgs, run};
pub(crate) use survey::Looking;
pub(crate) use unknown::{nothing_checked, unchecked, unlisted};
