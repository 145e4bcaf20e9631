//! Laws of round trips: a round trip returns the same object, and edits at the other version survive the conversion
//! back.

use super::case::Case;
use super::conversion_path::{Breach, Trip, identical, ours, with_metadata};
use super::coverage::Coverage;
use super::edits::{changed, edited};
use super::random::Random;
use super::stepwise::sparse_stops_on_the_way;
use super::value::{Value, place};
use super::writes::can_be_written_back;

/// A round trip returns the same object, and so do further round trips.
fn round_trip_is_identity(trip: &Trip<'_>, object: &Value, coverage: &mut Coverage) -> Result<(), Breach> {
    let back = trip.back();
    let (there, changes) = trip.explained(object)?;
    coverage.note(trip, object, &changes);
    let (round_tripped, changes) = back.explained(&there).map_err(|breach| breach.after("there", &there))?;
    coverage.note(&back, &there, &changes);
    let clean = ours(object).is_empty();
    let expected = with_metadata(object);
    let returned = if trip.down && clean {
        trip.exactly("back home", &expected, &round_tripped)
    } else {
        trip.same("back home", &expected, &round_tripped)
    };
    returned.map_err(|breach| breach.after("there", &there))?;
    let again = trip.there(&round_tripped)?;
    if clean {
        trip.exactly("there again", &there, &again)?;
    }
    let round_tripped_again = back.there(&again)?;
    identical("back at its own version", &round_tripped, &round_tripped_again)?;
    identical("converted a third time", &again, &trip.there(&round_tripped_again)?)
}

pub(super) fn complete_round_trip(Case { trip, object, coverage, .. }: Case<'_>) -> Result<bool, Breach> {
    if !trip.from.is_complete(object) {
        return Ok(false);
    }
    round_trip_is_identity(trip, object, coverage).map(|()| true)
}

pub(super) fn sparse_round_trip(Case { trip, object, coverage, .. }: Case<'_>) -> Result<bool, Breach> {
    if !trip.from.is_sparse(object) {
        return Ok(false);
    }
    round_trip_is_identity(trip, object, coverage)?;
    sparse_stops_on_the_way(trip, object).map(|()| true)
}

/// A client reads, edits and writes the object at the other version, as text and through the API server, and once more
/// at the start version.
pub(super) fn edits_win(Case { trip, object, seed, coverage }: Case<'_>) -> Result<bool, Breach> {
    let Some((object, there)) = trip.at_both_ends(object) else { return Ok(false) };
    let mut case = Case { trip, object: &object, seed, coverage };
    let any = any_edit_wins(&mut case, &there)?;
    Ok(an_edit_of_a_guard_wins(&mut case, &there)? || any)
}

fn any_edit_wins(Case { trip, object, seed, coverage }: &mut Case<'_>, there: &Value) -> Result<bool, Breach> {
    let mut random = Random::new(*seed ^ 0xED17);
    let Some(edit) = edited(&trip.to, &mut random, there) else { return Ok(false) };
    let back = trip.back();
    let with_story = |breach: Breach| breach.after("edited", &edit).after("read there", there);
    note_edit(trip, object, &edit, coverage);
    round_trip_is_identity(&back, &edit, coverage).map_err(with_story)?;
    let Some(written) = back.settled(&edit) else { return Ok(true) };
    if let Some(read) = trip.read(&back.seen(&written).map_err(with_story)?) {
        can_be_written_back(&back, &read)
            .map_err(|breach| with_story(breach.after("read at its own version", &read)))?;
    }
    let Ok(round_tripped) = back.stored(&written) else { return Ok(true) };
    let again = trip.stored(&round_tripped).map_err(|breach| with_story(breach.after("home", &round_tripped)))?;
    trip.same("the edit, through the API server", &written, &again)
        .map_err(|breach| with_story(breach.after("home", &round_tripped)))?;
    let Some(second) = edited(&trip.from, &mut random, &round_tripped) else { return Ok(true) };
    round_trip_is_identity(trip, &second, coverage)
        .map_err(|breach| with_story(breach.after("edited again, at its own version", &second)))?;
    Ok(true)
}

/// Like `any_edit_wins`, with an edit of the guard of a kept value.
fn an_edit_of_a_guard_wins(
    Case { trip, object, seed, coverage }: &mut Case<'_>,
    there: &Value,
) -> Result<bool, Breach> {
    let Ok((_, mut changes)) = trip.explained(object) else { return Ok(false) };
    let mut random = Random::new(*seed ^ 0x9A4D);
    changes.retain(|change| change.kept && !change.after.is_empty());
    let Some((path, _)) = random.pick(&changes).and_then(|change| change.after.first()) else { return Ok(false) };
    let guard = place(path);
    let Some(edit) = there.at(&guard).and_then(|_| changed(&trip.to, &mut random, there, &guard)) else {
        return Ok(false);
    };
    note_edit(trip, object, &edit, coverage);
    round_trip_is_identity(&trip.back(), &edit, coverage)
        .map_err(|breach| breach.after("edited", &edit).after("read there", there))?;
    Ok(true)
}

/// Records the kept values that were not restored after the edit.
fn note_edit(trip: &Trip<'_>, object: &Value, edit: &Value, coverage: &mut Coverage) {
    if let (Ok((_, there)), Ok((_, round_tripped))) = (trip.explained(object), trip.back().explained(edit)) {
        coverage.note_edit(trip, &there, &round_tripped);
    }
}
