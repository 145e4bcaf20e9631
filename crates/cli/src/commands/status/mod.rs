//! `pointsman status`: how kinds stand in a cluster.

mod command;
mod exposition;
mod looking;
mod told;

pub(crate) use command::{StatusArgs, run};
pub(crate) use looking::Looking;
