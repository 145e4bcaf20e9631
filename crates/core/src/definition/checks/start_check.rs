//! The checks of a definition.

use super::list_check::ListCheck;

/// What a roll must not begin, or go on, without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    /// Before it begins.
    pub(crate) start: Vec<StartCheck>,
    /// While it moves objects.
    pub(crate) during: Vec<ListCheck>,
}

/// Something that must be so before a roll begins.
#[derive(Clone, Debug)]
pub(crate) enum StartCheck {
    /// Its controllers run.
    Controllers,
    /// The CRD in the cluster has every field that the definition knows.
    Crd,
    /// Objects of any kind are as they should be.
    List(Box<ListCheck>),
    /// What the version needs is there.
    Needs,
    /// The path leads there, from where the objects are.
    Paths,
}
