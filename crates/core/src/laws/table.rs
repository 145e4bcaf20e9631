//! The laws, each with its name, its text, and the objects that it applies to.

use super::case::Case;
use super::conversion_path::Breach;
use super::objects::Make;
use super::{carry, deletions, forgery, hostile, independence, items, round_trips, stepwise, writes};

/// A law of conversion.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// The name.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
    pub(super) make: Make,
    /// Judges a case. `Ok(false)` if the law does not apply to the object.
    pub(super) holds: fn(Case<'_>) -> Result<bool, Breach>,
}

impl Law {
    /// The law of a name, if there is one: see [`LAWS`].
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        LAWS.into_iter().find(|law| law.name == name)
    }
}

/// All laws, in the order of checks.
pub const LAWS: [Law; 22] = [
    Law {
        name: "total",
        text: "any object converts, or fails by name and path",
        make: Make::Hostile,
        holds: hostile::converts_or_fails_by_path,
    },
    Law {
        name: "deterministic",
        text: "equal input gives equal bytes, in any order of members",
        make: Make::Complete,
        holds: hostile::same_input_same_bytes,
    },
    Law {
        name: "readers-never-pay",
        text: "every stored object can be read at every version, and the API server can decode the response",
        make: Make::Complete,
        holds: writes::readers_never_pay,
    },
    Law {
        name: "heavy-readers-never-pay",
        text: "every stored object can be read at every version, with fields of any size",
        make: Make::Heavy,
        holds: writes::readers_never_pay,
    },
    Law {
        name: "identity",
        text: "kind, name, labels and the annotations of others are carried",
        make: Make::Hostile,
        holds: carry::identity_is_carried,
    },
    Law {
        name: "round-trip",
        text: "a complete object survives a round trip unchanged",
        make: Make::Complete,
        holds: round_trips::complete_round_trip,
    },
    Law {
        name: "sparse-round-trip",
        text: "a sparse object survives a round trip unchanged, over any versions",
        make: Make::Sparse,
        holds: round_trips::sparse_round_trip,
    },
    Law {
        name: "nothing-invented",
        text: "a sparse object gains no field",
        make: Make::Sparse,
        holds: carry::nothing_is_invented,
    },
    Law {
        name: "no-stranger",
        text: "the response has no field that only the source version has",
        make: Make::Complete,
        holds: carry::no_stranger_stays,
    },
    Law {
        name: "small",
        text: "the difference is kept, not the object",
        make: Make::Complete,
        holds: carry::what_is_kept_is_small,
    },
    Law {
        name: "hash",
        text: "the rollout hash is the same in every version",
        make: Make::Complete,
        holds: carry::the_hash_stays,
    },
    Law {
        name: "forgery",
        text: "forged kept annotations change no other field and break no conversion",
        make: Make::Pruned,
        holds: hostile::forgeries_gain_nothing,
    },
    Law {
        name: "one-meaning",
        text: "a forged entry shows a value in both versions or in neither",
        make: Make::Pruned,
        holds: forgery::one_meaning,
    },
    Law {
        name: "stored",
        text: "an object stored at the other version returns unchanged, and a repeated apply changes nothing",
        make: Make::Pruned,
        holds: writes::stored_object_round_trip,
    },
    Law {
        name: "no-op-write",
        text: "an object read and written back at the other version is unchanged at its own version",
        make: Make::Pruned,
        holds: writes::a_write_of_nothing_changes_nothing,
    },
    Law {
        name: "edits-win",
        text: "an edit of a visible field survives the round trip",
        make: Make::Pruned,
        holds: round_trips::edits_win,
    },
    Law {
        name: "edits-touch-nothing-else",
        text: "an edit or removal of one field in one version keeps all unrelated fields",
        make: Make::Pruned,
        holds: independence::an_edit_touches_nothing_else,
    },
    Law {
        name: "step-by-step",
        text: "a path of several steps gives the same result step by step, stored and edited at each version",
        make: Make::Pruned,
        holds: stepwise::each_version_is_stored_on_the_way,
    },
    Law {
        name: "deleted-stays-deleted",
        text: "an object removed in one version stays removed in the other",
        make: Make::Pruned,
        holds: deletions::a_removed_holder_stays_away,
    },
    Law {
        name: "items",
        text: "reordered or removed items keep their own values alone",
        make: Make::Pruned,
        holds: items::items_keep_what_is_theirs,
    },
    Law {
        name: "replaced-items",
        text: "an item added in place of a removed item is new, and all others keep their values",
        make: Make::Pruned,
        holds: items::a_new_item_is_a_new_one,
    },
    Law {
        name: "stale",
        text: "a kept value whose guard changed does not return when the guard changes back",
        make: Make::Pruned,
        holds: deletions::a_broken_guard_stays_broken,
    },
];
