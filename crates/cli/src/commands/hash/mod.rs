//! `pointsman hash` and `pointsman hash diff`.

mod command;
mod diff;
mod preimages;
mod stale;

pub(crate) use command::{HashArgs, run};
pub(crate) use preimages::hash;
pub(crate) use stale::stamped;
