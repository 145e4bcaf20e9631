//! `pointsman convert`.

mod command;
mod conversion_result;
mod explain;

pub(crate) use command::{ConvertArgs, run};
pub(crate) use explain::cells;
