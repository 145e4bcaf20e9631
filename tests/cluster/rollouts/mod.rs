//! Rollouts on a real API server.

pub(crate) mod bounds;
pub(crate) mod controllers;
pub(crate) mod fleets;
pub(crate) mod freezes;
pub(crate) mod holds;
pub(crate) mod kinds;
pub(crate) mod late;
pub(crate) mod marks;
pub(crate) mod outside;
pub(crate) mod returns;
pub(crate) mod rights;
pub(crate) mod scale;
pub(crate) mod stored;
pub(crate) mod supported;
pub(crate) mod versions;
pub(crate) mod waves;
pub(crate) mod workflows;
