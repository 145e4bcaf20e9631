//! Names of kinds and versions on a command line.

use pointsman_core::definition::Kind;
use pointsman_core::did_you_mean;

use super::{kinds_dir::LoadedKind, usage::Usage};

/// A kind by any of its names.
pub(crate) fn find<'k>(all: &'k [LoadedKind], name: &str) -> anyhow::Result<&'k LoadedKind> {
    let lower = name.to_lowercase();
    let found = all.iter().find(|known| known.kind.is_called(name));
    found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|known| known.kind.name()).collect();
        let every: Vec<String> = all.iter().flat_map(|known| known.kind.names()).collect();
        let meant = did_you_mean(&lower, every.iter().map(String::as_str));
        Usage(format!("unknown kind {name:?}{meant}; known kinds: {}. Add others with --kinds DIR", known.join(", ")))
            .into()
    })
}

/// A version by its name, or by group and name as in `kubectl convert --output-version`.
pub(crate) fn version<'k>(kind: &'k Kind, name: &str) -> Result<&'k str, String> {
    let without_group = name.strip_prefix(kind.group()).and_then(|rest| rest.strip_prefix('/'));
    let bare = without_group.unwrap_or(name);
    kind.versions().find(|version| *version == bare).ok_or_else(|| {
        let known: Vec<&str> = kind.versions().collect();
        format!("{} has {}{}", kind.kind(), known.join(", "), did_you_mean(bare, kind.versions()))
    })
}
