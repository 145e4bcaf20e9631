//! `pointsman doctor`: what does not fit in a cluster, or in files.

mod command;
mod examined;
mod server_flags;

pub(crate) use command::{DoctorArgs, run};
