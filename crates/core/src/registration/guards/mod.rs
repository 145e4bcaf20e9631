//! Policies that the API server enforces while pointsman does not run.

pub(super) mod cel;
pub(super) mod crd_guard;
pub(super) mod guard;
pub(super) mod incomplete;
pub(super) mod promotion_policy;
