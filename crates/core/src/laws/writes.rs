//! Laws of writes through the API server: an object stored at the other version survives, a write without changes is a
//! no-op, and a stored object can be read at every version.

use super::apiserver::{ANNOTATIONS, Constraint, invalid};
use super::case::Case;
use super::conversion_path::{Breach, Trip};
use super::value::{Segment, Value};

/// The object is created here, stored at the other version, and read here.
pub(super) fn stored_object_round_trip(Case { trip, object, .. }: Case<'_>) -> Result<bool, Breach> {
    let Some((object, stored)) = trip.at_both_ends(object) else { return Ok(false) };
    let with_story = |breach: Breach| breach.after("stored", &stored);
    let round_tripped = trip.back().seen(&stored).map_err(with_story)?;
    trip.same("read again", &object, &round_tripped).map_err(with_story)?;
    // A second apply stores the same object.
    let Some(written) = trip.settled(&round_tripped) else { return Ok(true) };
    let again = trip.stored(&written).map_err(with_story)?;
    trip.exactly("stored again", &stored, &again).map_err(with_story)?;
    Ok(true)
}

/// The object is stored here, read at the other version, and written back there unchanged.
pub(super) fn a_write_of_nothing_changes_nothing(Case { trip, object, .. }: Case<'_>) -> Result<bool, Breach> {
    let Some(object) = trip.settled(object) else { return Ok(false) };
    let Ok(seen) = trip.seen(&object) else { return Ok(false) };
    let back = trip.back();
    let Some(written) = back.read(&seen) else { return Ok(false) };
    let with_story = |breach: Breach| breach.after("written there", &written).after("read there", &seen);
    if !can_be_written_back(trip, &written).map_err(with_story)? {
        return Ok(false);
    }
    let round_tripped = back.stored(&written).map_err(with_story)?;
    trip.exactly("at its own version after the write", &object, &round_tripped).map_err(with_story)?;
    Ok(true)
}

/// Returns whether the API server accepts an object at the end version as it was read there. A rejection must be
/// intended.
pub(super) fn can_be_written_back(trip: &Trip<'_>, read: &Value) -> Result<bool, Breach> {
    match invalid(trip.to.schema, read, "") {
        None => Ok(true),
        // A stricter bound is intended: the object must be changed before it can be written.
        Some(problem)
            if accepts_a_difference(trip) && !matches!(problem.constraint, Constraint::Type | Constraint::Required) =>
        {
            Ok(false)
        }
        Some(problem) => {
            let at = super::value::way(problem.path.trim_start_matches('/'));
            Err(Breach::new(format!("cannot be written back: {problem}")).at(at))
        }
    }
}

/// Returns whether the definition accepts differences between the schemas.
fn accepts_a_difference(trip: &Trip<'_>) -> bool {
    let kind = trip.from.kind;
    let ends = kind.version(trip.from.version).zip(kind.version(trip.to.version));
    ends.is_some_and(|(from, to)| kind.steps_between(from, to).any(|(_, step)| step.accepts))
}

/// An object that the API server stored in any version can be read at every other version, and the response can be
/// decoded. Around a change of the storage version, a write cannot be distinguished from a read.
pub(super) fn readers_never_pay(Case { trip, object, .. }: Case<'_>) -> Result<bool, Breach> {
    let Some(object) = trip.settled(object) else { return Ok(false) };
    let there = trip.there(&object)?;
    let (before, now) = (annotations(&object), annotations(&there));
    // A marked object is only for readers.
    let mark = ["metadata", "annotations", INCOMPLETE].map(|name| Segment::Name(name.to_owned()));
    if before <= ANNOTATIONS && now > ANNOTATIONS && there.at(&mark).is_none() {
        return Err(Breach::new(format!("annotations of {now} bytes, which exceed the limit of a write")));
    }
    trip.seen(&object).map(|_| true)
}

/// The mark of an incomplete response.
const INCOMPLETE: &str = "pointsman.dev/incomplete";

/// The size of an object's annotations in bytes, keys and values.
fn annotations(object: &Value) -> usize {
    let Some(Value::Object(all)) = object.field("metadata.annotations") else { return 0 };
    all.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum()
}
