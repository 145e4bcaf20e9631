//! `pointsman rollout`: a fleet goes from one controller version to another.

mod change;
mod command;
mod examples;
mod metrics;
mod html;
mod rollout_kind;
mod lease;
mod status;
mod object_table;
mod plan;
mod policies;
mod prioritize;
mod prometheus_args;
mod rights;
mod run;
mod runner_args;
mod start;
mod tables;
mod versions;

pub(crate) use command::{RolloutArgs, run};
