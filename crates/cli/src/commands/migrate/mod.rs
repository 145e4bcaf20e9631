//! `pointsman migrate`: flags, progress and result.

mod command;
mod forget;
mod output;

pub(crate) use command::{MigrateArgs, run};
pub(super) use output::count;
