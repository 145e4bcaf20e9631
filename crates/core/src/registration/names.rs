//! Controller versions in the names of objects.

use crate::webhook::{ControllerVersion, digest};

/// A version in names, which cannot contain dots: `2-17-0` for 2.17.0. A dash is doubled, so that 2.17.0-rc.1 and
/// 2.17.0-rc-1 have distinct names. Other ambiguous versions, such as those with capitals, get a digest.
pub(super) fn dashed(version: &ControllerVersion) -> String {
    let text = version.as_str();
    let name = text.to_lowercase().replace('-', "--").replace(['.', '_', '+'], "-");
    let back: Vec<String> = name.split("--").map(|part| part.replace('-', ".")).collect();
    if back.join("-") == text { name } else { digested(&name, text) }
}

/// The version with a prefix `v`, as in names of configurations. A version that already starts with `v` is distinct
/// from one without.
pub(super) fn prefixed(version: &ControllerVersion) -> String {
    let name = dashed(version);
    if name.starts_with('v') { digested(&name, version.as_str()) } else { format!("v{name}") }
}

/// Parses a name from [`prefixed`]: a known version, or a version that can be derived from the name.
pub(super) fn version_of(name: &str, known: &[ControllerVersion]) -> Option<ControllerVersion> {
    if let Some(version) = known.iter().find(|version| prefixed(version) == name) {
        return Some(version.clone());
    }
    let bare = name.rsplit_once('-').map(|(bare, _)| bare);
    let texts = [Some(name), bare].into_iter().flatten().flat_map(|name| [Some(name), name.strip_prefix('v')]);
    let parts = |name: &str| name.split("--").map(|part| part.replace('-', ".")).collect::<Vec<_>>().join("-");
    let mut read = texts.flatten().filter_map(|name| parts(name).parse::<ControllerVersion>().ok());
    read.find(|version| prefixed(version) == name)
}

fn digested(name: &str, text: &str) -> String {
    let digest = format!("{:.8}", digest(&[text.as_bytes()]));
    if name.ends_with(&digest) { name.to_owned() } else { format!("{name}-{digest}") }
}
