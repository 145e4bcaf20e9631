//! The memory budget of requests, and the limits of the process.

pub(crate) mod body_limits;
pub(crate) mod budget;
pub(crate) mod cgroup;
pub(crate) mod descriptors;
pub(crate) mod process_memory;
pub(crate) mod reservations;
