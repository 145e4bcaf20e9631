//! The compiled checks of a definition.

use super::named_check::NamedCheck;

/// The checks that must pass before a rollout starts or continues.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    /// Before the rollout starts.
    pub(crate) start: Vec<StartCheck>,
    /// While the rollout moves objects.
    pub(crate) during: Vec<NamedCheck>,
}

/// A check before a rollout starts.
#[derive(Clone, Debug)]
pub(crate) enum StartCheck {
    /// The controllers run.
    Controllers,
    /// The CRD in the cluster has every field that the definition knows.
    Crd,
    /// A named check.
    Named(NamedCheck),
    /// The prerequisites of the version are met.
    Needs,
    /// The upgrade path leads from the current versions of the objects to the new version.
    Paths,
}

impl Checks {
    /// The named checks. They may depend on the versions of a rollout.
    pub(crate) fn named(&self) -> impl Iterator<Item = &NamedCheck> {
        let start = self.start.iter().filter_map(|check| match check {
            StartCheck::Named(check) => Some(check),
            StartCheck::Controllers | StartCheck::Crd | StartCheck::Needs | StartCheck::Paths => None,
        });
        start.chain(&self.during)
    }

    /// The checks of a rollout without a version. Omits checks that depend on versions.
    pub(crate) fn without_versions(&self) -> Self {
        let is_versionless = |check: &&StartCheck| !matches!(check, StartCheck::Named(check) if check.is_of_versions());
        Self {
            start: self.start.iter().filter(is_versionless).cloned().collect(),
            during: self.during.iter().filter(|check| !check.is_of_versions()).cloned().collect(),
        }
    }
}
