//! A round trip returns the same object. `edits` tests that no other value is restored.

use super::objects::{complete, is_complete, is_sparse, pruned, sparse};
use super::schema::{fill, invalid};
use super::{Trip, convert, exactly, has_ours, on_every_trip, ours, same};
use crate::value::Value;

/// Status fields of the newer version that the older schema accepts.
const CARRIED: [&str; 2] = ["status.lastCompletedRolloutHash", "status.requestedRolloutHash"];

/// A round trip returns the same object, and further round trips change nothing.
pub(super) fn comes_home(trip: &Trip, object: &Value) -> Result<Value, String> {
    let there = convert(object, trip.to)?;
    let back = convert(&there, trip.from)?;
    let (mut expected, mut tidy) = (with_metadata(object), back.clone());
    // Values derived for this object change with it; and a request is not reported as done before its completion.
    if let Some(notes) = ours(object, trip.to).as_ref().and_then(|kept| kept.get("rollout")) {
        let (request, completed) = ("spec.requestRollout", "status.lastCompletedRolloutRequest");
        let mut follows = vec![completed];
        if notes.get("request").is_some_and(|made| object.field(request) == Some(made)) {
            follows.push(request);
        }
        // If a client completed a request, the hashes are recomputed.
        if object.field(completed) != notes.get("completed").or_else(|| notes.get("returned")) {
            follows.extend(CARRIED);
        }
        for field in follows {
            expected.take(field);
            tidy.take(field);
        }
    }
    if !trip.down {
        for field in CARRIED.iter().filter(|field| object.field(field).is_none()) {
            tidy.take(field);
        }
    }
    if trip.down && !has_ours(object) {
        exactly("back home", &expected, &tidy)?;
    }
    same("back home", &expected, &tidy)?;
    let again = convert(&back, trip.to)?;
    if !has_ours(object) {
        exactly("there again", &there, &again)?;
    }
    let home = convert(&again, trip.from)?;
    exactly("back at its own version", &back, &home)?;
    exactly("converted a third time", &again, &convert(&home, trip.to)?)?;
    Ok(there)
}

/// A response always has metadata.
fn with_metadata(object: &Value) -> Value {
    let mut object = object.clone();
    if object.get("metadata").is_none_or(|metadata| *metadata == Value::Null) {
        object.set("metadata", Value::object());
    }
    object
}

#[test]
fn complete_objects_round_trip() {
    let seen = on_every_trip(1, &complete, &|trip, seen, object, _| {
        if seen.note("complete", is_complete(trip, object)) {
            let there = comes_home(trip, object)?;
            seen.note("kept something", has_ours(&there));
            seen.note("had a status", object.get("status").is_some());
        }
        Ok(())
    });
    seen.at_least(95, "complete");
    seen.at_least(40, "kept something");
    seen.at_least(30, "had a status");
}

#[test]
fn sparse_objects_round_trip() {
    let seen = on_every_trip(1, &sparse, &|trip, seen, object, _| {
        if seen.note("sparse", is_sparse(trip, object)) {
            let there = comes_home(trip, object)?;
            seen.note("kept something", has_ours(&there));
            seen.note("without metadata", object.get("metadata").is_none());
        }
        Ok(())
    });
    seen.at_least(40, "sparse");
    seen.at_least(10, "kept something");
    seen.at_least(1, "without metadata");
}

#[test]
fn complete_object_converts_to_valid() {
    let seen = on_every_trip(4, &pruned, &|trip, seen, object, _| {
        if seen.note("complete", is_complete(trip, object)) {
            let mut there = convert(object, trip.to)?;
            fill(trip.schema_to(), &mut there);
            if let Some(problem) = invalid(trip.schema_to(), &there, "") {
                // A list cannot omit an element that the other type cannot represent.
                let gap = problem.ends_with("has a wrong type: null")
                    && (problem.contains("/tags/") || problem.contains("/groups/"));
                if seen.note("gaps", gap) {
                    return Ok(());
                }
                return Err(format!("is not valid at {}: {problem}", trip.to));
            }
        }
        Ok(())
    });
    seen.at_least(95, "complete");
}
