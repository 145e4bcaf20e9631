//! A visible edit survives the way back, and a value kept for another value is not restored.

use super::objects::{edited, is_complete, pruned};
use super::round_trips::comes_home;
use super::schema::fill;
use super::{Trip, convert, has_ours, on_every_trip, overlaps, same, without_ours};
use crate::value::{Value, Way, difference};
use pointsman_core::laws::Random;

/// The object after a client has read, edited and written it at the other version.
fn edited_there(trip: &Trip, random: &mut Random, object: &Value) -> Result<Option<(Value, Value)>, String> {
    let mut there = convert(object, trip.to)?;
    fill(trip.schema_to(), &mut there);
    let edit = edited(random, trip, trip.to, &there);
    Ok((edit != there).then_some((there, edit)))
}

fn back(trip: &Trip) -> Trip {
    Trip { from: trip.to, to: trip.from, down: !trip.down, ..*trip }
}

#[test]
fn edit_survives_the_round_trip() {
    let seen = on_every_trip(2, &pruned, &|trip, seen, object, seed| {
        let mut random = Random::new(seed ^ 0xED17);
        if !is_complete(trip, object) {
            return Ok(());
        }
        let Some((there, edit)) = edited_there(trip, &mut random, object)? else {
            return Ok(());
        };
        seen.note("edited", true);
        seen.note("kept something", has_ours(&edit));
        let home = comes_home(&back(trip), &edit)
            .map_err(|error| format!("{error}\nedited: {}\nwas:    {}", edit.to_text(), there.to_text()))?;
        // A second round, with an edit at the original version.
        let mut home = home;
        fill(trip.schema_from(), &mut home);
        let second = edited(&mut random, trip, trip.from, &home);
        if second != home {
            seen.note("edited twice", true);
            comes_home(trip, &second).map_err(|error| format!("second edit: {error}\n{}", second.to_text()))?;
        }
        Ok(())
    });
    seen.at_least(85, "edited");
    seen.at_least(60, "edited twice");
    seen.at_least(30, "kept something");
}

#[test]
fn broken_guard_drops_kept_value() {
    let seen = on_every_trip(2, &pruned, &|trip, seen, object, seed| {
        if !trip.is_step() || !is_complete(trip, object) {
            return Ok(());
        }
        let mut random = Random::new(seed ^ 0x6A4D);
        let Some((there, edit)) = edited_there(trip, &mut random, object)? else {
            return Ok(());
        };
        let (home, fresh) = (convert(&edit, trip.from)?, convert(&without_ours(&edit), trip.from)?);
        for touched in trip.touched.iter().filter(|touched| !touched.each) {
            let broken = touched.of(!trip.down).iter().any(|way| there.at(way) != edit.at(way));
            // Values derived from the whole spec are tested by the status stories.
            let rollout = touched.older.len() == 4;
            if !broken || rollout {
                continue;
            }
            seen.note("broken guards", true);
            for way in touched.of(trip.down) {
                seen.note("kept values that stay away", object.at(way) != fresh.at(way));
                if home.at(way) != fresh.at(way) {
                    let difference = difference(&fresh, &home).unwrap_or_default();
                    return Err(format!("comes back: {difference}\nedited: {}", edit.to_text()));
                }
            }
        }
        Ok(())
    });
    seen.at_least(10, "broken guards");
    seen.at_least(5, "kept values that stay away");
}

/// True if an edit changed the field or created its parent object.
fn is_edited(there: &Value, edit: &Value, way: &Way) -> bool {
    let is_object = |value: Option<&Value>| matches!(value, Some(Value::Object(_)));
    let (before, after) = (there.at(way), edit.at(way));
    way.len() == 2 && before != after || way.len() == 1 && is_object(before) != is_object(after)
}

#[test]
fn edit_touches_nothing_else() {
    let seen = on_every_trip(4, &pruned, &|trip, seen, object, seed| {
        if !trip.is_step() || !is_complete(trip, object) {
            return Ok(());
        }
        let mut random = Random::new(seed ^ 0x07E4);
        let Some((there, edit)) = edited_there(trip, &mut random, object)? else {
            return Ok(());
        };
        let mut expected = object.clone();
        let mut home = convert(&edit, trip.from)?;
        // Fields that are neither edited nor derived from edited fields are unchanged.
        let changed: Vec<Way> =
            edit.ways().into_iter().chain(there.ways()).filter(|way| is_edited(&there, &edit, way)).collect();
        let mut excluded = changed.clone();
        for touched in trip.touched {
            let follows = touched.older.len() == 4
                || touched.of(!trip.down).iter().any(|way| changed.iter().any(|changed| overlaps(way, changed)));
            if follows {
                excluded.extend(touched.of(trip.down).to_vec());
            }
        }
        for way in excluded.iter().map(|way| &way[..way.len().min(2)]) {
            expected.remove(way);
            home.remove(way);
        }
        seen.note("compared", true);
        for object in [&mut expected, &mut home] {
            object.take("metadata");
            if object.get("status").is_some_and(Value::is_empty) {
                object.take("status");
            }
        }
        same("untouched", &expected, &home).map_err(|error| format!("{error}\nedited: {}", edit.to_text()))
    });
    seen.at_least(60, "compared");
}
