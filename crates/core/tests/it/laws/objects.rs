//! Whole objects, as the API server would hand them over, and as it would not.

use std::sync::LazyLock;

use pointsman_core::definition::Kind;
use pointsman_core::laws::{self, Dictionary, Make, ObjectSource, Random};

use super::Trip;
use crate::kinds::WEBHOOK;
use crate::value::Value;

/// What the fields of the embedded kinds are compared with.
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

/// The same without fields that no schema knows.
pub(super) fn pruned(trip: &Trip, seed: u64) -> Value {
    trip.source.make(Make::Pruned, &WEBHOOK, seed)
}

/// Whether the API server would hand this over as a whole object: valid, with its defaults.
pub(super) fn is_complete(trip: &Trip, object: &Value) -> bool {
    trip.source.is_complete(object)
}

/// What one field manager owns of an object: places are missing, required ones and metadata too.
pub(super) fn sparse(trip: &Trip, seed: u64) -> Value {
    trip.source.make(Make::Sparse, &WEBHOOK, seed)
}

/// Whether what is there of an object is valid, and something that makes it a whole one is missing.
pub(super) fn is_sparse(trip: &Trip, object: &Value) -> bool {
    trip.source.is_sparse(object)
}

/// An object in which anything may stand anywhere.
pub(super) fn hostile(trip: &Trip, seed: u64) -> Value {
    trip.source.make(Make::Hostile, &WEBHOOK, seed)
}

/// Changes something visible at a version, so that the object stays one that the API server takes.
pub(super) fn edited(random: &mut Random, trip: &Trip, version: &'static str, object: &Value) -> Value {
    laws::edited(&source(trip.kind, version), random, object).unwrap_or_else(|| object.clone())
}
