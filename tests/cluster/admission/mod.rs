//! Admission by controller versions on a real API server.

pub(crate) mod cases;
pub(crate) mod chance;
pub(crate) mod fleet;
pub(crate) mod flips;
pub(crate) mod kept;
pub(crate) mod matrix;
pub(crate) mod modes;
pub(crate) mod registered;
pub(crate) mod rules;
