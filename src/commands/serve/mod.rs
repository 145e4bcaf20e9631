//! `pointsman serve`.

mod args;
mod command;
mod limits;

pub(crate) use args::ServeArgs;
pub(crate) use command::run;
