//! Laws that the engine is known to break, in one place. The list only ever gets shorter: where a law on it holds again,
//! `what_is_known_is_still_broken` fails and says so. Findings have the numbers of the list that the rewrite works off.

use pointsman_core::laws::random_kinds::Manner;

/// A law that does not hold for a kind.
pub(super) struct Known {
    pub(super) law: &'static str,
    pub(super) kind: &'static str,
    /// A case that breaks it.
    pub(super) seed: u64,
}

/// By what is wrong.
pub(super) const KNOWN: [Known; 15] = [
    // A string becomes a number that the API server cannot decode, and a LIST fails for everybody (finding 01b).
    Known { law: "heavy-readers-never-pay", kind: "mailbox", seed: 10 },
    // What does not fit the annotation's budget fails the reader, not the writer (finding 21).
    Known { law: "heavy-readers-never-pay", kind: "proxy", seed: 1 },
    Known { law: "heavy-readers-never-pay", kind: "materialize", seed: 1 },
    // A number is text only until the API server reads our answer: "-0" comes home as "0" (01).
    Known { law: "stored", kind: "mailbox", seed: 19 },
    Known { law: "no-op-write", kind: "mailbox", seed: 19 },
    Known { law: "stored", kind: "proxy", seed: 1 },
    Known { law: "no-op-write", kind: "proxy", seed: 1 },
    Known { law: "edits-win", kind: "proxy", seed: 11 },
    Known { law: "edits-win", kind: "mailbox", seed: 5012 },
    // An object that was removed there comes back here, with what was kept in it (finding 04a).
    Known { law: "deleted-stays-deleted", kind: "mailbox", seed: 23 },
    // An item without a key loses what it kept when something in it is edited (finding edit-item).
    Known { law: "items", kind: "proxy", seed: 17 },
    // A kept value comes back when its guard changes and changes back; /mutate even puts it back (13).
    Known { law: "stale", kind: "mailbox", seed: 3 },
    Known { law: "stale", kind: "materialize", seed: 3 },
    Known { law: "stale", kind: "proxy", seed: 0 },
    // A forged number that the API server cannot decode is believed, and every LIST fails (a new one).
    Known { law: "forgery", kind: "proxy", seed: 5021 },
];

/// The same, as `forged_annotations_gain_nothing` finds it. `problem` is what is wrong with an answer.
pub(super) fn is_known_forgery(problem: &str) -> bool {
    problem.ends_with("has a wrong type: 1E400")
}

/// Laws that are broken for kinds by chance, with the seed of one.
pub(super) const KNOWN_BY_CHANCE: [(&str, Manner, u64); 10] = [
    ("sparse-round-trip", Manner::Sensible, 7),
    ("edits-win", Manner::Sensible, 0),
    ("stale", Manner::Sensible, 1),
    ("round-trip", Manner::Sensible, 4),
    ("stored", Manner::Sensible, 4),
    ("no-op-write", Manner::Sensible, 4),
    ("deleted-stays-deleted", Manner::Sensible, 8),
    ("heavy-readers-never-pay", Manner::Sensible, 0),
    ("nothing-invented", Manner::Sensible, 15),
    ("forgery", Manner::Sensible, 1094),
];

/// Laws that are broken by definitions in `tests/data/random-kinds`, each with a case that breaks it.
pub(super) const KNOWN_CASES: [(&str, &[(&str, u64)]); 32] = [
    (
        "a-bound-on-the-way",
        &[("round-trip", 1), ("stored", 3), ("no-op-write", 3), ("edits-win", 6)],
    ),
    (
        "a-default-in-an-emptied-object",
        &[
            ("round-trip", 0),
            ("stored", 13),
            ("no-op-write", 13),
            ("edits-win", 0),
            ("deleted-stays-deleted", 24),
            ("heavy-readers-never-pay", 1),
        ],
    ),
    ("a-default-in-another-spelling", &[("no-op-write", 0)]),
    ("a-default-makes-its-holder", &[("stored", 0), ("no-op-write", 0), ("edits-win", 0)]),
    ("a-default-of-one-version", &[("stored", 0), ("no-op-write", 0), ("edits-win", 3)]),
    ("a-default-with-defaults-inside", &[("no-op-write", 0)]),
    ("a-guard-that-changes-back", &[("stale", 39)]),
    ("a-holder-that-requires", &[("no-op-write", 9)]),
    ("a-key-beside-a-moved-object", &[("stale", 3)]),
    ("a-list-in-an-empty-object", &[("stale", 3), ("heavy-readers-never-pay", 10)]),
    (
        "a-number-in-another-spelling",
        &[("stored", 47), ("no-op-write", 47), ("edits-win", 9), ("heavy-readers-never-pay", 3)],
    ),
    (
        "a-number-nobody-can-decode",
        &[
            ("stored", 64),
            ("no-op-write", 64),
            ("edits-win", 71),
            ("stale", 46),
            ("heavy-readers-never-pay", 10),
        ],
    ),
    ("a-part-that-is-null", &[("stale", 82)]),
    ("a-removed-holder", &[("deleted-stays-deleted", 3)]),
    ("a-removed-holder-of-an-added-field", &[("deleted-stays-deleted", 3)]),
    (
        "a-required-field-that-cannot-be-said",
        &[
            ("stored", 8),
            ("no-op-write", 8),
            ("edits-win", 71),
            ("stale", 11),
            ("heavy-readers-never-pay", 0),
        ],
    ),
    ("a-required-field-without-a-value", &[("no-op-write", 0)]),
    (
        "a-string-becomes-an-object",
        &[
            ("round-trip", 1),
            ("stored", 21),
            ("no-op-write", 21),
            ("edits-win", 3),
            ("stale", 27),
            ("heavy-readers-never-pay", 27),
        ],
    ),
    ("a-string-into-a-map-of-integers", &[("no-op-write", 3), ("stale", 3)]),
    ("an-accepted-conversion", &[("stored", 3), ("no-op-write", 3), ("edits-win", 0)]),
    (
        "an-item-becomes-an-object",
        &[
            ("round-trip", 1),
            ("no-stranger", 1),
            ("stored", 3),
            ("no-op-write", 3),
            ("edits-win", 0),
        ],
    ),
    (
        "an-item-of-another-type",
        &[
            ("stored", 3),
            ("no-op-write", 3),
            ("edits-win", 38),
            ("stale", 9),
            ("heavy-readers-never-pay", 10),
        ],
    ),
    ("an-item-that-is-edited", &[("items", 21), ("stale", 3)]),
    (
        "an-occupied-entry",
        &[("round-trip", 1), ("stored", 21), ("no-op-write", 21), ("edits-win", 0)],
    ),
    ("complete-by-a-dropped-field", &[("sparse-round-trip", 0)]),
    ("filled-from-elsewhere", &[("no-op-write", 3), ("heavy-readers-never-pay", 1)]),
    ("items-of-another-type", &[("no-op-write", 3)]),
    ("items-that-share-a-key", &[("items", 42), ("stale", 3)]),
    ("more-than-the-budget", &[("heavy-readers-never-pay", 22)]),
    ("required-by-the-newer", &[("no-op-write", 0), ("heavy-readers-never-pay", 3)]),
    (
        "under-its-own-name",
        &[("round-trip", 1), ("stored", 21), ("no-op-write", 21), ("edits-win", 3)],
    ),
    ("wrap-into-two", &[("stale", 3), ("heavy-readers-never-pay", 10)]),
];

/// What to do about something known that a case did not show: another case of it, or that it is known no longer.
pub(super) fn moved_on(shows: impl Fn(u64) -> bool) -> String {
    match (0..200).find(|seed| shows(*seed)) {
        Some(seed) => format!("seed {seed} shows it now"),
        None => "it holds now: take it off the list in known.rs".to_owned(),
    }
}
