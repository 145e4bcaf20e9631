//! `pointsman status`: how kinds stand in a cluster.

mod command;
mod told;

pub(crate) use command::{StatusArgs, run};
