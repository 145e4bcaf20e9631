//! `pointsman hash` and `pointsman hash diff`.

mod command;
mod diff;
mod hashed;

pub(crate) use command::{HashArgs, run};
