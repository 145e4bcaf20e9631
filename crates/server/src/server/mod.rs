//! Starts, runs and drains a server.

pub(crate) mod bound;
pub(crate) mod listener;
pub(crate) mod options;
pub(crate) mod process;
pub(crate) mod reload;
pub(crate) mod serve_error;
pub(crate) mod shutdown;
