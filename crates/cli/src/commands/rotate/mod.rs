//! `pointsman rotate-ca`: flags, progress and result.

mod command;
mod output;

pub(crate) use command::{RotateArgs, run};
