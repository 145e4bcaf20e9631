//! The admission checks of a definition as data: rules, upgrade paths, and gates for a handover. Also the places of the
//! running version and of the role of an object.

mod block;
mod compiler;
mod controller_lease;
mod observe;
mod observed_part;
mod other_source;
mod others_spec;
mod prerequisites;
mod role;
mod rule;
mod rule_spec;
mod upgrade_path;

pub use block::Admission;
pub(super) use block::AdmissionSpec;
pub use controller_lease::ControllerLease;
pub use observed_part::{ObservedPart, PartVersions, whole_parts};
pub use other_source::{NamedObject, OtherSource};
pub use prerequisites::{APPLIED, AVAILABLE, Needs, Prerequisites};
pub use role::RoleSource;
pub(crate) use rule::{Check, Rule};
pub(crate) use rule_spec::Reading;
pub use upgrade_path::{NamedVersion, UpgradePath};
