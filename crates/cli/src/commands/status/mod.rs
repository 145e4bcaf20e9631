//! `pointsman status`: how kinds stand in a cluster.

mod command;
mod exposition;
mod looking;
mod told;
mod unknown;

pub(crate) use command::{StatusArgs, run};
pub(crate) use looking::Looking;
pub(crate) use unknown::{nothing_checked, unchecked, unlisted};
