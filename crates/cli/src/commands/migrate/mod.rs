//! `pointsman migrate`: its flags, what it says on the way, and what came of it.

mod command;
mod forget;
mod output;

pub(crate) use command::{MigrateArgs, run};
pub(super) use output::count;
