//! `pointsman rotate-ca`: its flags, what it says on the way, and what came of it.

mod command;
mod output;

pub(crate) use command::{RotateArgs, run};
