//! The fields of an operation, for people.

/// The fields of an operation, for people.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FieldChange {
    /// The name of the operation.
    pub operation: String,
    /// The paths in the older version, with `[*]` for items.
    pub older: Vec<String>,
    /// The paths in the newer version, with `[*]` for items.
    pub newer: Vec<String>,
    /// The conditions for the conversion to the newer version. All must hold.
    pub conditions: Vec<String>,
}
