//! Laws that the engine is known to break, in one place. The list only ever gets shorter: where a law on it holds again,
//! `what_is_known_is_still_broken` fails and says so.

use pointsman_core::laws::random_kinds::Manner;

/// A law that does not hold for a kind.
pub(super) struct Known {
    pub(super) law: &'static str,
    pub(super) kind: &'static str,
    /// A case that breaks it.
    pub(super) seed: u64,
}

/// By what is wrong.
pub(super) const KNOWN: [Known; 0] = [];

/// Laws that are broken for kinds by chance, with the seed of one.
pub(super) const KNOWN_BY_CHANCE: [(&str, Manner, u64); 0] = [];

/// Laws that are broken by definitions in `tests/data/random-kinds`, each with a case that breaks it.
pub(super) const KNOWN_CASES: [(&str, &[(&str, u64)]); 0] = [];

/// What to do about something known that a case did not show: another case of it, or that it is known no longer.
pub(super) fn moved_on(shows: impl Fn(u64) -> bool) -> String {
    match (0..200).find(|seed| shows(*seed)) {
        Some(seed) => format!("seed {seed} shows it now"),
        None => "it holds now: take it off the list in known.rs".to_owned(),
    }
}
