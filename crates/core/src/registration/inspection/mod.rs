//! Checks of documents in a cluster.

pub(super) mod difference;
pub(super) mod doctor;
pub(super) mod drift;
pub(super) mod expected_diff;
pub(super) mod finding;
pub(super) mod policies;
pub(super) mod registered_versions;
pub(super) mod registrations;
pub(super) mod selector_gaps;
pub(super) mod server_flags;
pub(super) mod servers;
