//! What a roll must not begin, or go on, without, as data: the CRD, the path, what a version needs, controllers, and
//! other objects of the cluster.

mod list_check;
mod spec;
mod start_check;

pub(crate) use list_check::ListCheck;
pub(super) use spec::ChecksSpec;
pub(crate) use start_check::{Checks, StartCheck};
