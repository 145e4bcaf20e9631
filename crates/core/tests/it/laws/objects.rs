//! Complete objects as the API server sends them, and invalid objects.

use std::sync::LazyLock;

use pointsman_core::definition::Kind;
use pointsman_core::laws::{self, Dictionary, Make, ObjectSource, Random};

use super::Trip;
use crate::kinds::WEBHOOK;
use crate::value::Value;

/// The values that operations compare the fields of the embedded kinds with.
pub(super) static WORDS: LazyLock<Dictionary> = LazyLock::new(|| {
    let words = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let hashes = [
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "32757b88cb0576b194c261380738cae622235e783724a4e2f1e84c658d3fce1b",
    ];
    let uuids = [
        "00000000-0000-0000-0000-000000000000",
        "00000000000000000000000000000000",
        "11111111-1111-4111-8111-11111111111a",
        "1111111111114111811111111111111A",
    ];
    let reasons =
        ["Applying", "ReadyToPromote", "Promoting", "Applied", "WaitingForApproval", "FailedDeploy", "RolloutTimeout"];
    let all = [
        ("reason", words(&reasons)),
        ("forcePromote", words(&uuids)),
        ("lastCompletedRolloutHash", words(&hashes)),
        ("requestedRolloutHash", words(&hashes)),
        ("resourcesHash", words(&hashes)),
    ];
    Dictionary(all.map(|(name, words)| (name.to_owned(), words)).into())
});

/// The objects of a version.
pub(super) fn source(kind: &'static Kind, version: &'static str) -> ObjectSource<'static> {
    ObjectSource::new(kind, version, &WORDS).unwrap()
}

/// An object that the API server would store at the version: valid, defaults filled.
pub(super) fn complete(trip: &Trip, seed: u64) -> Value {
    trip.source.make(Make::Complete, &WEBHOOK, seed)
}

/// Same as [`complete`], without fields unknown to the schema.
pub(super) fn pruned(trip: &Trip, seed: u64) -> Value {
    trip.source.make(Make::Pruned, &WEBHOOK, seed)
}

/// True if the API server could send this as a complete object: valid, with its defaults.
pub(super) fn is_complete(trip: &Trip, object: &Value) -> bool {
    trip.source.is_complete(object)
}

/// The fields of an object that one field manager owns: fields are missing, also required ones and metadata.
pub(super) fn sparse(trip: &Trip, seed: u64) -> Value {
    trip.source.make(Make::Sparse, &WEBHOOK, seed)
}

/// True if the present fields are valid and the object is incomplete.
pub(super) fn is_sparse(trip: &Trip, object: &Value) -> bool {
    trip.source.is_sparse(object)
}

/// An object with arbitrary values in arbitrary locations.
pub(super) fn hostile(trip: &Trip, seed: u64) -> Value {
    trip.source.make(Make::Hostile, &WEBHOOK, seed)
}

/// Changes a visible value at a version; the object stays acceptable to the API server.
pub(super) fn edited(random: &mut Random, trip: &Trip, version: &'static str, object: &Value) -> Value {
    laws::edited(&source(trip.kind, version), random, object).unwrap_or_else(|| object.clone())
}
