//! `pointsman rollout`: moves a fleet from one controller version to another.

mod change;
mod command;
mod examples;
mod html;
mod lease;
mod metrics;
mod object_table;
mod plan;
mod policies;
mod prioritize;
mod prometheus_args;
mod rights;
mod rollout_kind;
mod run;
mod runner_args;
mod start;
mod status;
mod tables;
mod versions;
mod watch;

pub(crate) use command::{RolloutArgs, run};
