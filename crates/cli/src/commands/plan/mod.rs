//! `pointsman plan`.

mod assessed;
mod command;
mod html;
mod report;
mod told;

pub(crate) use assessed::remarks;
pub(crate) use command::{PlanArgs, run};
