//! Parses versions in common spellings.

use semver::Version;

/// Parses a version in a common spelling: `2`, `2.17`, `v2.17.1`.
pub fn version(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let (numbers, rest) = match text.find(['-', '+']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let dots = numbers.matches('.').count();
    let missing = match dots {
        0 => ".0.0",
        1 => ".0",
        2 => "",
        _ => return None,
    };
    Version::parse(&format!("{numbers}{missing}{rest}")).ok()
}

/// The version in the tag of an image reference: `repository/image:v26.1.0`, with `--` for `+`, which a tag cannot
/// contain. `None` for digests, and for other tags.
pub(crate) fn image_tag(reference: &str) -> Option<Version> {
    if reference.contains('@') {
        return None;
    }
    let (_, tag) = reference.rsplit_once(':')?;
    Version::parse(&tag.strip_prefix('v')?.replace("--", "+")).ok()
}

/// The tag of an image reference, with or without a digest: `v1.2.3` of `registry:5000/app:v1.2.3@sha256:…`.
pub(crate) fn tag(reference: &str) -> Option<&str> {
    let named = reference.split_once('@').map_or(reference, |(named, _)| named);
    // A registry may have a port.
    let image = named.rsplit_once('/').map_or(named, |(_, image)| image);
    image.split_once(':').map(|(_, tag)| tag)
}

/// Returns whether two versions are equal, ignoring build metadata.
pub(super) fn same(one: &Version, two: &Version) -> bool {
    one.cmp_precedence(two).is_eq()
}

/// A version as written. Two spellings may be one version.
#[derive(Clone, Debug)]
pub struct VersionText {
    /// The version as written.
    pub text: String,
    /// The parsed version. `None` if the text is no semantic version.
    pub version: Option<Version>,
}

impl VersionText {
    /// Parses a version.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), version: version(text) }
    }

    /// Returns whether both are one version, ignoring build metadata. Unparsable versions are compared as text.
    pub fn is(&self, other: &Self) -> bool {
        match (&self.version, &other.version) {
            (Some(one), Some(other)) => same(one, other),
            _ => self.text == other.text,
        }
    }
}
