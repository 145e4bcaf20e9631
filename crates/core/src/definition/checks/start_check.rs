//! The checks of a definition.

use super::named_check::NamedCheck;

/// What a rollout must not begin, or go on, without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    /// Before it begins.
    pub(crate) start: Vec<StartCheck>,
    /// While it moves objects.
    pub(crate) during: Vec<NamedCheck>,
}

/// Something that must be so before a rollout begins.
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

impl Checks {
    /// Those that have a name of their own, which may ask what hangs on the versions of a rollout.
    pub(crate) fn named(&self) -> impl Iterator<Item = &NamedCheck> {
        let start = self.start.iter().filter_map(|check| match check {
            StartCheck::Named(check) => Some(check),
            StartCheck::Controllers | StartCheck::Crd | StartCheck::Needs | StartCheck::Paths => None,
        });
        start.chain(&self.during)
    }

    /// Those of a rollout that brings no version: what hangs on one is left out.
    pub(crate) fn without_versions(&self) -> Self {
        let asks = |check: &&StartCheck| !matches!(check, StartCheck::Named(check) if check.is_of_versions());
        Self {
            start: self.start.iter().filter(asks).cloned().collect(),
            during: self.during.iter().filter(|check| !check.is_of_versions()).cloned().collect(),
        }
    }
}
