//! The operations of a step on one object: the spec's, or an item's inside a list.
//!
//! An operation never decides for itself what is lossless. Its values are mapped to the other side; if mapping them back
//! would not give the same values, they are kept, with what they became. That holds for every operation there is.

use std::collections::BTreeSet;

use super::items::convert_items;
use super::kept::{Kept, identical, same};
use super::tree::{self, Was};
use super::{Change, ConvertError};
use crate::definition::{Fragment, Items, Level, Operation, Path, Place, Side};
use crate::json::Json;

/// One conversion of one object.
pub(super) struct Trip<'t> {
    /// The side that is written.
    pub(super) to: Side,
    /// Whether the object is complete, so that fields are filled as its readers expect.
    pub(super) complete: bool,
    /// Where changes are told, if somebody wants to know.
    pub(super) trace: Option<&'t mut Vec<Change>>,
}

/// An operation under way.
struct Running<'l, 'a> {
    operation: &'l Operation,
    from: Fragment<'a>,
    to: Fragment<'a>,
    given_back: bool,
    /// What the items keep.
    items: Option<Json<'a>>,
}

/// Converts `root` in place. `kept` is what the other side left here; what this side must keep is returned.
pub(super) fn convert<'a>(
    root: &mut Json<'a>,
    level: &Level,
    trip: &mut Trip<'_>,
    kept: &Kept<'_>,
    prefix: &str,
) -> Result<Kept<'a>, ConvertError> {
    let (to, from) = (trip.to, trip.to.other());
    let (whole, remainders): (Vec<_>, Vec<_>) =
        level.operations.iter().partition(|operation| !operation.is_remainder());
    let mut running = Vec::with_capacity(level.operations.len());
    let nothing = Kept::default();
    for operation in whole {
        let mut values = Vec::new();
        for place in operation.places.of(from) {
            let value = tree::get(root, prefix, &place.path)?.cloned();
            // An item cannot be absent: null stands for that where it can mean nothing else.
            values.push(value.filter(|value| {
                !(place.path.is_empty() && value.is_null() && !place.schema.nullable)
            }));
        }
        let kept = if prefix.is_empty() && gone(root, level, from, operation.places.of(to)) {
            &nothing
        } else {
            kept
        };
        running.push(run(operation, values, trip, kept, prefix)?);
    }
    let mut emptied = remove(root, from, &running, prefix)?;
    for operation in remainders {
        let values = match operation.places.of(from).first() {
            Some(place) => {
                let value = left(root, &place.path, &emptied, prefix)?;
                if value.is_some() {
                    holders(&place.path, &mut emptied);
                }
                vec![value]
            }
            None => Vec::new(),
        };
        let kept = if prefix.is_empty() && gone(root, level, from, operation.places.of(to)) {
            &nothing
        } else {
            kept
        };
        running.insert(0, run(operation, values, trip, kept, prefix)?);
    }
    let mut own = Kept::default();
    put(root, level, &mut running, trip, &emptied, &mut own, prefix)?;
    restore_emptied(root, level, to, &emptied, kept, prefix)?;
    for run in running {
        keep(root, run, trip, &mut own, prefix);
    }
    Ok(own)
}

/// Whether the top-level object that is written into was taken away. One that the other version does not have at all
/// cannot have been taken away there.
fn gone(root: &Json<'_>, level: &Level, from: Side, places: &[Place]) -> bool {
    let known = |path: &Path| {
        let mut tops = level.stays.of(from).iter().filter(|top| top.len() == 1);
        tops.any(|top| path.starts_with(top))
    };
    places.iter().any(|place| !tree::has_top(root, &place.path) && known(&place.path))
}

fn run<'l, 'a>(
    operation: &'l Operation,
    from: Fragment<'a>,
    trip: &mut Trip<'_>,
    kept: &Kept<'_>,
    prefix: &str,
) -> Result<Running<'l, 'a>, ConvertError> {
    let places = operation.places.of(trip.to);
    let id = places.first().map(|place| place.id.as_str());
    if let Some(Items { level, keys }) = operation.items() {
        let mut value = from.first().cloned().flatten();
        let each = id.and_then(|id| kept.get(id, "each"));
        let items = match &mut value {
            Some(value) => {
                let place = operation.places.of(trip.to.other()).first();
                let prefix = join(prefix, place.map_or("", |place| place.id.as_str()));
                convert_items(value, level, keys, trip, each, &prefix)?
            }
            None => None,
        };
        return Ok(Running { operation, from, to: vec![value], given_back: false, items });
    }
    if let Some(to) = id.and_then(|id| kept.give_back(id, places, &from)) {
        return Ok(Running { operation, from, to, given_back: true, items: None });
    }
    let to = operation.map(trip.to, &from);
    Ok(Running { operation, from, to, given_back: false, items: None })
}

pub(super) fn join(prefix: &str, id: &str) -> String {
    match prefix.is_empty() {
        true => id.to_owned(),
        false => format!("{prefix}.{id}"),
    }
}

/// Takes out what was read and does not stay where it is. Returns the objects that something was taken out of.
fn remove(
    root: &mut Json<'_>,
    from: Side,
    running: &[Running<'_, '_>],
    prefix: &str,
) -> Result<BTreeSet<Path>, ConvertError> {
    let mut emptied = BTreeSet::new();
    for run in running {
        for (place, value) in run.operation.places.of(from).iter().zip(&run.from) {
            let targets = run.operation.places.of(from.other()).iter().zip(&run.to);
            let stays = targets
                .into_iter()
                .any(|(target, value)| target.path == place.path && value.is_some());
            if value.is_none() || stays {
                continue;
            }
            tree::take(root, prefix, &place.path)?;
            holders(&place.path, &mut emptied);
        }
    }
    Ok(emptied)
}

/// The objects on the way to a field.
fn holders(path: &Path, found: &mut BTreeSet<Path>) {
    let mut path = path.clone();
    while let Some(parent) = path.parent().filter(|parent| !parent.is_empty()) {
        found.insert(parent.clone());
        path = parent;
    }
}

/// What is left of an object that the other version does not have. Nothing, if it was emptied just now.
fn left<'a>(
    root: &mut Json<'a>,
    path: &Path,
    emptied: &BTreeSet<Path>,
    prefix: &str,
) -> Result<Option<Json<'a>>, ConvertError> {
    for inner in emptied.iter().rev().filter(|inner| inner.starts_with(path)) {
        if tree::is_empty(root, inner) {
            tree::take(root, prefix, inner)?;
        }
    }
    tree::take(root, prefix, path)
}

/// Puts what was mapped, then fills what readers of a complete object expect.
fn put<'a>(
    root: &mut Json<'a>,
    level: &Level,
    running: &mut [Running<'_, 'a>],
    trip: &Trip<'_>,
    emptied: &BTreeSet<Path>,
    own: &mut Kept<'a>,
    prefix: &str,
) -> Result<(), ConvertError> {
    let from = trip.to.other();
    // On the way home an object that is emptied goes, unless that side requires it. What was otherwise is noted.
    let mut made = |path: Path, was: Was| {
        let natural = if level.stays.of(from).contains(&path) { Was::Empty } else { Was::Absent };
        let id = path.to_string();
        if was != natural && !emptied.contains(&path) && !own.has(&id) {
            own.note_was(&id, was);
        }
    };
    for run in running.iter() {
        for (place, value) in run.operation.places.of(trip.to).iter().zip(&run.to) {
            if let Some(value) = value {
                tree::put(root, prefix, &place.path, value.clone(), &mut made)?;
            }
        }
    }
    if !trip.complete {
        return Ok(());
    }
    for run in running {
        for (place, value) in run.operation.places.of(trip.to).iter().zip(&mut run.to) {
            if let (None, Some(fill), false) = (&value, &place.fill, run.given_back)
                && place.path.parent().is_some_and(|parent| tree::is_object(root, &parent))
            {
                tree::put(root, prefix, &place.path, fill.clone(), &mut made)?;
                *value = Some(fill.clone());
            }
        }
    }
    Ok(())
}

/// Objects that moving emptied become what they were before it filled them.
fn restore_emptied(
    root: &mut Json<'_>,
    level: &Level,
    to: Side,
    emptied: &BTreeSet<Path>,
    kept: &Kept<'_>,
    prefix: &str,
) -> Result<(), ConvertError> {
    for path in emptied.iter().rev() {
        if !tree::is_empty(root, path) {
            continue;
        }
        let natural = if level.stays.of(to).contains(path) { Was::Empty } else { Was::Absent };
        match kept.was(&path.to_string()).unwrap_or(natural) {
            Was::Absent => {
                tree::take(root, prefix, path)?;
            }
            Was::Empty => {}
            Was::Null => {
                if let Some(place) = tree::get(root, prefix, path)? {
                    *place = Json::NULL;
                }
            }
        }
    }
    Ok(())
}

/// Keeps what would not come back by itself, and tells what changed.
fn keep<'a>(
    root: &mut Json<'a>,
    run: Running<'_, 'a>,
    trip: &mut Trip<'_>,
    own: &mut Kept<'a>,
    prefix: &str,
) {
    let from = trip.to.other();
    let places = run.operation.places.of(from);
    let mut keeps = false;
    if let Some(place) = places.first() {
        if let Some(items) = run.items {
            own.add(&place.id, "each", items);
            keeps = true;
        } else if run.operation.items().is_none() {
            let mut back = run.operation.map(from, &run.to);
            for ((value, place), was) in back.iter_mut().zip(places).zip(&run.from) {
                // A complete object has its defaults: one that is missing was not filled in yet, which says nothing.
                let holder =
                    place.path.parent().is_some_and(|parent| tree::is_object(root, &parent));
                if value.is_none()
                    && trip.complete
                    && holder
                    && (was.is_some() || !(place.required || place.fills_default()))
                {
                    value.clone_from(&place.fill);
                }
            }
            if !identical(&back, &run.from) {
                own.keep(&place.id, &run.from, &run.to);
                keeps = true;
            }
        }
    }
    let Some(trace) = trip.trace.as_deref_mut() else {
        return;
    };
    let (before, after) = (run.operation.places.of(from), run.operation.places.of(trip.to));
    let moved = before.first().map(|place| &place.path) != after.first().map(|place| &place.path);
    if (moved || !same(&run.from, &run.to) || keeps)
        && run.from.iter().chain(&run.to).any(Option::is_some)
    {
        let show = |places: &[Place], values: &Fragment<'_>| {
            let present = places
                .iter()
                .zip(values)
                .filter_map(|(place, value)| Some((place, value.as_ref()?)));
            present.map(|(place, value)| (join(prefix, &place.id), value.to_text())).collect()
        };
        trace.push(Change {
            operation: run.operation.name.to_owned(),
            before: show(before, &run.from),
            after: show(after, &run.to),
            kept: keeps,
            given_back: run.given_back,
        });
    }
}
