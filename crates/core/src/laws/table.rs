//! The laws, each with its name, its text, and the objects that it applies to.

use super::conversion_path::{Breach, Trip};
use super::coverage::Coverage;
use super::objects::Make;
use super::value::Value;
use super::{carry, deletions, forgery, hostile, independence, items, round_trips, stepwise, writes};

/// A law of conversion.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// The name.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
    pub(super) make: Make,
    /// Judges an object, with a seed for random choices. `Ok(false)` if the law does not apply to the object.
    pub(super) holds: fn(&Trip<'_>, &Value, u64, &mut Coverage) -> Result<bool, Breach>,
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
        text: "the same input gives the same bytes, in whatever order its members stand",
        make: Make::Complete,
        holds: hostile::same_input_same_bytes,
    },
    Law {
        name: "readers-never-pay",
        text: "what the API server stored can be read at every version, and it can decode what is answered",
        make: Make::Complete,
        holds: writes::readers_never_pay,
    },
    Law {
        name: "heavy-readers-never-pay",
        text: "what the API server stored can be read at every version, however large its fields are",
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
        text: "a complete object that goes there and back is the same object",
        make: Make::Complete,
        holds: round_trips::complete_round_trip,
    },
    Law {
        name: "sparse-round-trip",
        text: "a sparse object that goes there and back is the same object, wherever it stops on the way",
        make: Make::Sparse,
        holds: round_trips::sparse_round_trip,
    },
    Law {
        name: "nothing-invented",
        text: "a sparse object gets nothing that was not there",
        make: Make::Sparse,
        holds: carry::nothing_is_invented,
    },
    Law {
        name: "no-stranger",
        text: "no field that only the source version knows stays in the answer",
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
        text: "whoever forges what we keep gains nothing and breaks nothing",
        make: Make::Pruned,
        holds: hostile::forgeries_gain_nothing,
    },
    Law {
        name: "one-meaning",
        text: "a forged entry shows no version a value that the other version does not show",
        make: Make::Pruned,
        holds: forgery::one_meaning,
    },
    Law {
        name: "stored",
        text: "an object that is stored at the other version comes home as it was, and applied again it is stored as it was",
        make: Make::Pruned,
        holds: writes::stored_object_round_trip,
    },
    Law {
        name: "no-op-write",
        text: "an object that is read at the other version and written back unchanged is at home what it was",
        make: Make::Pruned,
        holds: writes::a_write_of_nothing_changes_nothing,
    },
    Law {
        name: "edits-win",
        text: "what is visible in a version and edited there survives the way back",
        make: Make::Pruned,
        holds: round_trips::edits_win,
    },
    Law {
        name: "edits-touch-nothing-else",
        text: "whoever changes or removes one field in one version loses no other field that it has nothing to do with",
        make: Make::Pruned,
        holds: independence::an_edit_touches_nothing_else,
    },
    Law {
        name: "step-by-step",
        text: "a way of several steps may be taken one by one, stored and edited at each version",
        make: Make::Pruned,
        holds: stepwise::each_version_is_stored_on_the_way,
    },
    Law {
        name: "deleted-stays-deleted",
        text: "an object that somebody removed in one version does not come back in another",
        make: Make::Pruned,
        holds: deletions::a_removed_holder_stays_away,
    },
    Law {
        name: "items",
        text: "items that are removed or brought into another order keep what is theirs, and nothing else",
        make: Make::Pruned,
        holds: items::items_keep_what_is_theirs,
    },
    Law {
        name: "replaced-items",
        text: "an item that is added where another one was removed is a new one, and all others keep what is theirs",
        make: Make::Pruned,
        holds: items::a_new_item_is_a_new_one,
    },
    Law {
        name: "stale",
        text: "what was kept under a guard that changed does not come back when the guard changes back",
        make: Make::Pruned,
        holds: deletions::a_broken_guard_stays_broken,
    },
];
