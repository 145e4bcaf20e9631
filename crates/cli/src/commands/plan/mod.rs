//! `pointsman plan`.

mod assessment;
mod command;
mod html;
mod report;
mod text_output;

pub(crate) use assessment::remarks;
pub(crate) use command::{PlanArgs, run};
