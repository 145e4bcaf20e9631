//! `pointsman rotate`: its flags, what it says on the way, and what came of it.

mod command;
mod told;

pub(crate) use command::{RotateArgs, run};
