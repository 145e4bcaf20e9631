//! The versions of a rollout in place of `{from}` and `{to}` in texts of a definition.

use pointsman_core::definition::version_words::{FROM, Piece, TO, pieces};

/// The versions of a rollout that replace the placeholders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RolloutVersions<'a> {
    /// The version before the rollout. `None` if the rollout accepts any version.
    pub(crate) from: Option<&'a str>,
    /// The version after the rollout.
    pub(crate) to: &'a str,
}

impl<'a> RolloutVersions<'a> {
    /// Returns a text with the versions in place of `{from}` and `{to}`.
    pub(crate) fn filled(self, text: &str) -> String {
        self.filled_as(text, str::to_owned)
    }

    /// Like `filled`, with each version encoded by `written`.
    pub(crate) fn filled_as(self, text: &str, written: impl Fn(&str) -> String) -> String {
        let filled = |piece: Piece<'_>| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Word(word) => self.of(word).map_or_else(|| format!("{{{word}}}"), &written),
        };
        pieces(text).into_iter().map(filled).collect()
    }

    /// The version for a placeholder. `None` for an unknown placeholder.
    pub(crate) fn of(self, word: &str) -> Option<&'a str> {
        match word {
            FROM => Some(self.from.unwrap_or_default()),
            TO => Some(self.to),
            _ => None,
        }
    }
}

/// Replaces each version placeholder by a dummy version, so that the rest of the text can be checked.
pub(crate) fn with_any_versions(text: &str) -> String {
    RolloutVersions { from: Some(ANY), to: ANY }.filled(text)
}

/// A dummy version that is well-formed in every place for versions.
const ANY: &str = "1.2.3";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_placeholders_are_replaced() {
        let versions = RolloutVersions { from: Some("{to}"), to: "{from}" };
        assert_eq!(versions.filled("{from}, {to}, {form}, {{to}}"), "{to}, {from}, {form}, {{from}}");
        assert_eq!(RolloutVersions { from: None, to: "b" }.filled("<{from}{to}>"), "<b>");
        assert_eq!(versions.filled_as("{to}/{to}", |version| version.len().to_string()), "6/6");
        assert_eq!(with_any_versions("a-{to}-{name}"), "a-1.2.3-{name}");
    }
}
