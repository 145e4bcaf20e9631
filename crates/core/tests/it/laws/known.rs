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

/// The same, as `forged_annotations_gain_nothing` finds it. `problem` is what is wrong with an answer.
pub(super) fn is_known_forgery(problem: &str) -> bool {
    problem.ends_with("has a wrong type: 1E400")
}

/// Laws that are broken for kinds by chance, with the seed of one.
pub(super) const KNOWN_BY_CHANCE: [(&str, Manner, u64); 3] =
    [("edits-win", Manner::Sensible, 26), ("round-trip", Manner::Hostile, 55), ("no-op-write", Manner::Sensible, 16)];

/// Laws that are broken by definitions in `tests/data/random-kinds`, each with a case that breaks it.
pub(super) const KNOWN_CASES: [(&str, &[(&str, u64)]); 4] = [
    ("a-default-in-an-emptied-object", &[("round-trip", 0), ("stored", 13), ("no-op-write", 13), ("edits-win", 0)]),
    ("a-default-instead-of-what-cannot-be-said", &[("stored", 9), ("no-op-write", 9), ("edits-win", 0)]),
    ("a-list-emptied-under-a-default", &[("edits-win", 0)]),
    ("two-defaults-in-an-optional-object", &[("edits-win", 0)]),
];

/// What to do about something known that a case did not show: another case of it, or that it is known no longer.
pub(super) fn moved_on(shows: impl Fn(u64) -> bool) -> String {
    match (0..200).find(|seed| shows(*seed)) {
        Some(seed) => format!("seed {seed} shows it now"),
        None => "it holds now: take it off the list in known.rs".to_owned(),
    }
}
