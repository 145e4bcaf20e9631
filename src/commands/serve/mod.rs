//! `pointsman serve`.

mod args;
mod command;

pub(crate) use args::ServeArgs;
pub(crate) use command::run;
