//! Field ownership: which field manager owns which fields, and in which version of the API it is written down.
//!
//! An entry of `metadata.managedFields` names a version. The API server converts the object to that version at each
//! write. It refuses server-side apply, or drops all entries, where it cannot (kubernetes#136919, until 1.37). So an
//! entry of a version that goes is translated to the version that stays.

mod field_owners;
mod field_set;
mod object_conversion;
mod owner_references;
mod version_counts;

pub(crate) use field_owners::{entry_versions, is_managed, translated};
pub(crate) use owner_references::{owner_versions, references_anew};
pub(crate) use version_counts::{LAST_APPLIED, last_applied_version};

pub use object_conversion::ObjectConversion;
pub use version_counts::VersionCounts;
