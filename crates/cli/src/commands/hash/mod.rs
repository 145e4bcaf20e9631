//! `pointsman hash` and `pointsman hash diff`.

mod command;
mod diff;
mod hashed;
mod stale;

pub(crate) use command::{HashArgs, run};
pub(crate) use hashed::hash;
pub(crate) use stale::stamped;
