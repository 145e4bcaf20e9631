//! The age of versions by their names.

/// The place of a version among others, oldest first: v1alpha1, v1beta1, v1, v2alpha1, v2. Other names are older, in
/// alphabetical order. The API server prefers v1 over v2alpha1 (`apimachinery pkg/version/helpers.go`), but v2alpha1
/// was written later.
pub(super) fn age(version: &str) -> (u64, u8, u64, &str) {
    stable(version).or_else(|| unstable(version)).unwrap_or((0, 0, 0, version))
}

fn stable(version: &str) -> Option<(u64, u8, u64, &str)> {
    Some((number(version.strip_prefix('v')?)?, 2, 0, ""))
}

fn unstable(version: &str) -> Option<(u64, u8, u64, &str)> {
    let rest = version.strip_prefix('v')?;
    let stages = [("alpha", 0), ("beta", 1)];
    stages.into_iter().find_map(|(stage, age)| {
        let (major, minor) = rest.split_once(stage)?;
        Some((number(major)?, age, number(minor)?, ""))
    })
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_sorted_by_age() {
        let mut versions = ["v2", "v10", "v1", "v2alpha1", "v1beta2", "foo", "v1alpha10", "v1beta1", "v1alpha2"];
        versions.sort_by_key(|version| age(version));
        assert_eq!(versions, ["foo", "v1alpha2", "v1alpha10", "v1beta1", "v1beta2", "v1", "v2alpha1", "v2", "v10"]);
    }
}
