//! `pointsman convert`.

mod command;
mod converted;
mod explain;

pub(crate) use command::{ConvertArgs, run};
