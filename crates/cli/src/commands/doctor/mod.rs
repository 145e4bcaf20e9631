//! `pointsman doctor`: checks a cluster or files.

mod command;
mod examination_output;
mod server_flags;

pub(crate) use command::{DoctorArgs, run};
