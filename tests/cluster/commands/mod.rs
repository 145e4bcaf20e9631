//! Commands that read or change a real cluster.

pub(crate) mod access;
pub(crate) mod after_a_kill;
pub(crate) mod away;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod enable_kubectl;
pub(crate) mod enable_trouble;
pub(crate) mod in_the_way;
pub(crate) mod last_errors;
pub(crate) mod max_in_flight;
pub(crate) mod migrate;
pub(crate) mod migrate_trouble;
pub(crate) mod ownership;
pub(crate) mod plan;
pub(crate) mod rotate;
pub(crate) mod rotate_trouble;
pub(crate) mod status;
