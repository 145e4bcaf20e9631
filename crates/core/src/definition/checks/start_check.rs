//! The checks of a definition.

use super::named_check::NamedCheck;

/// What a roll must not begin, or go on, without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    /// Before it begins.
    pub(crate) start: Vec<StartCheck>,
    /// While it moves objects.
    pub(crate) during: Vec<NamedCheck>,
}

/// Something that must be so before a roll begins.
#[derive(Clone, Debug)]
pub(crate) enum StartCheck {
    /// Its controllers run.
    Controllers,
    /// The CRD in the cluster has every field that the definition knows.
    Crd,
    /// Something with a name of its own is as it should be.
    Named(NamedCheck),
    /// What the version needs is there.
    Needs,
    /// The path leads there, from where the objects are.
    Paths,
}
