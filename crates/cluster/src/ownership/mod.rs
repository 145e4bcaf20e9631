//! Field ownership: the field managers of fields, and the API version of each record.
//!
//! An entry of `metadata.managedFields` has a version, to which the API server converts the object at each write. If it
//! cannot, it refuses server-side apply, or drops all entries (kubernetes#136919, until 1.37). So entries of a removed
//! version are translated to the remaining one.

mod field_owners;
mod field_set;
mod object_conversion;
mod owner_references;
mod version_counts;

pub(crate) use field_owners::{entry_versions, is_managed, translated};
pub(crate) use owner_references::{owner_versions, updated_references};
pub(crate) use version_counts::{LAST_APPLIED, last_applied_version};

pub use object_conversion::ObjectConversion;
pub use version_counts::VersionCounts;
