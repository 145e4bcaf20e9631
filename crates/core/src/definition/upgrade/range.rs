//! Ranges of versions: `*`, `8`, `7.17`, `>=8.18 <9`.

use semver::Version;

use super::version::version;

/// A range of versions. All its bounds must hold.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Range(Vec<(Bound, [u64; 3])>, String);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Bound {
    AtLeast,
    Below,
}

impl Range {
    /// Parses a range, or returns the error message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut range = Vec::new();
        for word in text.split_whitespace().filter(|word| *word != "*") {
            let (sign, rest) = ["<=", ">=", "<", ">", "="]
                .into_iter()
                .find_map(|sign| Some((sign, word.strip_prefix(sign)?)))
                .unwrap_or(("=", word));
            let Some(first) = version(rest).filter(|version| version.pre.is_empty()) else {
                return Err(format!("range {text:?}: {rest:?} is no version"));
            };
            let first = numbers(&first);
            let after = after(rest, first);
            match sign {
                ">=" => range.push((Bound::AtLeast, first)),
                ">" => range.push((Bound::AtLeast, after)),
                "<" => range.push((Bound::Below, first)),
                "<=" => range.push((Bound::Below, after)),
                _ => range.extend([(Bound::AtLeast, first), (Bound::Below, after)]),
            }
        }
        if text.trim().is_empty() {
            return Err("an empty range: write * for any version".to_owned());
        }
        let range = Self(range, text.trim().to_owned());
        if range.is_empty() {
            return Err(format!("range {text:?} contains no version"));
        }
        Ok(range)
    }

    pub(crate) fn contains(&self, version: &Version) -> bool {
        let numbers = numbers(version);
        self.0.iter().all(|(side, bound)| match side {
            Bound::AtLeast => numbers >= *bound,
            Bound::Below => numbers < *bound,
        })
    }

    pub(crate) fn first(&self) -> Option<Version> {
        let bounds = self.0.iter().filter(|(side, _)| *side == Bound::AtLeast);
        bounds.map(|(_, [major, minor, patch])| Version::new(*major, *minor, *patch)).max()
    }

    /// Returns whether the range contains a version newer than the first version of another range.
    pub(crate) fn exceeds(&self, other: &Self) -> bool {
        let first = other.first().unwrap_or_else(|| Version::new(0, 0, 0));
        let first = numbers(&first);
        self.0.iter().all(|(side, bound)| *side == Bound::AtLeast || *bound > first)
    }

    fn is_empty(&self) -> bool {
        let first = self.first().unwrap_or_else(|| Version::new(0, 0, 0));
        !self.contains(&first)
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.1)
    }
}

fn numbers(version: &Version) -> [u64; 3] {
    [version.major, version.minor, version.patch]
}

/// The first version after a partial version: 9.0.0 for `8`, 7.18.0 for `7.17`.
fn after(written: &str, [major, minor, patch]: [u64; 3]) -> [u64; 3] {
    match written.matches('.').count() {
        0 => [major.saturating_add(1), 0, 0],
        1 => [major, minor.saturating_add(1), 0],
        _ => [major, minor, patch.saturating_add(1)],
    }
}
