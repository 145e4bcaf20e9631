//! CRDs without a definition.

use pointsman_cluster::{CallError, UnknownCrd};

use crate::commands::kinds_dir::KindsArgs;
use crate::hint::hinted;

/// The CRDs that pointsman converts: those on the server of a known kind. Without a known kind, those with its path.
pub(crate) fn unchecked(unknown: Vec<UnknownCrd>, is_any_known: bool) -> Vec<UnknownCrd> {
    unknown.into_iter().filter(|one| one.shares_server || !is_any_known).collect()
}

/// A line about a CRD, for people.
pub(super) fn line(unknown: &UnknownCrd) -> String {
    format!(
        "{} converts through {}, but its definition is unknown: add the definition with --kinds DIR",
        unknown.name, unknown.converted_by
    )
}

/// The line if the CRDs cannot be listed.
pub(crate) fn unlisted(error: &CallError) -> String {
    format!("cannot list CRDs: {error}: CRDs without a definition are not reported")
}

/// The error if no kind was checked. `command` is the current command.
pub(crate) fn nothing_checked(command: &str, kinds: &KindsArgs) -> anyhow::Error {
    let error = anyhow::anyhow!("cannot check this cluster: no known kind is installed");
    hinted(error, format!("pointsman {command}{} --kinds DIR, with the definitions of its kinds", kinds.flags()))
}
