//! Protection of owner references.

/// Whether the API server requires additional rights to change owner references, by its admission plugin
/// `OwnerReferencesPermissionEnforcement`. Source: `kubernetes plugin/pkg/admission/gc/gc_admission.go`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OwnerReferences {
    /// Additional rights are not required (the default).
    Free,
    /// Additional rights are required.
    Guarded,
}
