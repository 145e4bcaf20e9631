//! Whether owner references are guarded.

/// Whether an API server asks whoever changes owner references for more rights than the write itself takes: whether its
/// admission plugin `OwnerReferencesPermissionEnforcement` is on.
/// Source: `kubernetes plugin/pkg/admission/gc/gc_admission.go`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OwnerReferences {
    /// It does not, as it is by default.
    Free,
    /// It does.
    Guarded,
}
