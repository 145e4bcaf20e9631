//! `pointsman doctor`: what does not fit in a cluster, or in files.

mod command;
mod examination_output;
mod server_flags;

pub(crate) use command::{DoctorArgs, run};
