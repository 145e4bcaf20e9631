//! The places of an object and a field in another version, by the definition alone.

use super::conversion_path::Trip;
use super::value::Segment;
use crate::definition::frontier::Part;
use crate::definition::{Condition, Level, Operation, Path, Place, Side};

/// The place in the start version of an object of the end version. `None` if the object did not exist: an operation
/// creates it, or takes it apart.
pub(super) fn source_place(trip: &Trip<'_>, object: &[Segment]) -> Option<Vec<Segment>> {
    let kind = trip.from.kind;
    let (here, there) = (kind.version(trip.to.version)?, kind.version(trip.from.version)?);
    let mut at = object.to_vec();
    for (side, step) in kind.steps_between(here, there) {
        at = across(&step.level, side, &at)?;
    }
    Some(at)
}

fn across(level: &Level, to: Side, at: &[Segment]) -> Option<Vec<Segment>> {
    let covers = |path: &Path| starts_with(at, path);
    let find = |side: Side| {
        level.operations.iter().find_map(|operation| {
            let mut places = operation.places.of(side).iter();
            places.find(|place| covers(&place.path)).map(|place| (operation, &place.path))
        })
    };
    let Some((operation, from)) = find(to.other()) else {
        // If an operation puts a value in its place, it is another object.
        return find(to).is_none().then(|| at.to_vec());
    };
    let [place] = operation.places.of(to).as_slice() else { return None };
    let (moved, rest) = (segments(&place.path), at.get(from.len()..)?);
    match (operation.items(), rest.split_first()) {
        (Some(items), Some((item, inside))) => {
            let inside = across(&items.level, to, inside)?;
            Some([moved.as_slice(), std::slice::from_ref(item), &inside].concat())
        }
        (Some(_), None) => Some(moved),
        (None, _) => operation.is_same().then(|| [&moved, rest].concat()),
    }
}

fn starts_with(at: &[Segment], path: &Path) -> bool {
    at.starts_with(&segments(path))
}

fn segments(path: &Path) -> Vec<Segment> {
    path.names().iter().map(|name| Segment::Name(name.to_string())).collect()
}

/// All places at the end of a trip that may change with a place at its start: the places that operations map it to, and
/// their contents.
pub(super) fn mapped_places(trip: &Trip<'_>, place: &[Segment]) -> Vec<Vec<Segment>> {
    let kind = trip.from.kind;
    let Some((here, there)) = kind.version(trip.from.version).zip(kind.version(trip.to.version)) else {
        return Vec::new();
    };
    let mut all = vec![place.to_vec()];
    for (side, step) in kind.steps_between(here, there) {
        all = all.iter().flat_map(|place| replaces(&step.level, side, place)).collect();
    }
    all
}

/// The objects at the end of a trip that contain a place of its start, or a place that it maps to, and the results of
/// operations on such an object.
pub(super) fn parent_places(trip: &Trip<'_>, place: &[Segment]) -> Vec<Vec<Segment>> {
    let kind = trip.from.kind;
    let Some((here, there)) = kind.version(trip.from.version).zip(kind.version(trip.to.version)) else {
        return Vec::new();
    };
    let (mut places, mut objects) = (vec![place.to_vec()], Vec::new());
    for (side, step) in kind.steps_between(here, there) {
        let ends = |place: &Vec<Segment>| {
            (1..place.len()).filter_map(|end| place.get(..end).map(<[_]>::to_vec)).collect::<Vec<_>>()
        };
        objects.extend(places.iter().flat_map(ends));
        // An operation under a condition may leave the parent of its field empty.
        let depending = places.iter().flat_map(|place| depending(&step.level, place));
        let read = depending.flat_map(|operation| operation.places.of(side.other()));
        objects.extend(read.flat_map(|place| ends(&segments(&place.path))));
        let next =
            |object: &Vec<Segment>| across(&step.level, side, object).or_else(|| made_of(&step.level, side, object));
        objects = objects.iter().filter_map(next).collect();
        places = places.iter().flat_map(|place| replaces(&step.level, side, place)).collect();
    }
    objects
}

/// The place that an operation maps an object or its parent to.
fn made_of(level: &Level, to: Side, object: &[Segment]) -> Option<Vec<Segment>> {
    let takes =
        |operation: &&Operation| operation.places.of(to.other()).iter().any(|place| starts_with(object, &place.path));
    let operation = level.operations.iter().find(takes)?;
    operation.places.of(to).first().map(|place| segments(&place.path))
}

/// Returns whether a place inside of an object at the start is outside of that object in an intermediate version, so
/// that removing the object there does not remove it.
pub(super) fn was_elsewhere(trip: &Trip<'_>, object: &[Segment], place: &[Segment]) -> bool {
    let kind = trip.from.kind;
    let Some((here, there)) = kind.version(trip.from.version).zip(kind.version(trip.to.version)) else { return false };
    let (mut object, mut places) = (object.to_vec(), vec![place.to_vec()]);
    for (side, step) in kind.steps_between(here, there) {
        places = places.iter().flat_map(|place| replaces(&step.level, side, place)).collect();
        match across(&step.level, side, &object) {
            Some(next) if places.iter().all(|place| place.starts_with(&next)) => object = next,
            _ => return true,
        }
    }
    false
}

fn replaces(level: &Level, to: Side, at: &[Segment]) -> Vec<Vec<Segment>> {
    let mut found = Vec::new();
    let mut carried = true;
    for operation in &level.operations {
        let written = operation.places.of(to);
        for read in operation.places.of(to.other()).iter().map(|place| segments(&place.path)) {
            let inside = at.strip_prefix(read.as_slice());
            if inside.is_none() && !read.starts_with(at) {
                continue;
            }
            // Changing a key of an item makes it another item. The kept values belong to the old item and must not be
            // restored into a new one.
            let keys = operation.items().map(|items| items.keys.of(to.other()));
            let is_key = |inside: &[Segment]| {
                keys.is_some_and(|keys| keys.iter().any(|key| segments(&key.path).starts_with(inside)))
            };
            if let Some([item, rest @ ..]) = inside
                && is_key(rest)
            {
                let first = written.first().map(|place| segments(&place.path)).unwrap_or_default();
                found.push([first.as_slice(), std::slice::from_ref(item)].concat());
                carried = false;
                continue;
            }
            carried &= inside.is_none();
            let first = written.first().map(|place| segments(&place.path)).unwrap_or_default();
            match (operation.items(), inside.and_then(<[Segment]>::split_first)) {
                (Some(items), Some((item, rest))) => {
                    let inner = replaces(&items.level, to, rest).into_iter();
                    found.extend(inner.map(|inner| [first.as_slice(), std::slice::from_ref(item), &inner].concat()));
                }
                (None, Some(_)) if operation.is_same() => {
                    found.push([first.as_slice(), inside.unwrap_or_default()].concat());
                }
                _ => found.extend(written.iter().map(|place| segments(&place.path))),
            }
            // If the other version has another value in place of an object, that value was edited.
            for place in written {
                found.extend(in_the_place_of(level, to, &place.path));
            }
        }
    }
    // The field of a condition affects the results of operations: in a conversion up, of the object as received, and in
    // a conversion down, of the result.
    let condition_places =
        if to == Side::Newer { vec![at.to_vec()] } else { [found.as_slice(), &[at.to_vec()]].concat() };
    for operation in condition_places.iter().flat_map(|at| depending(level, at)) {
        found.extend(operation.places.of(to).iter().map(|place| segments(&place.path)));
    }
    if carried {
        // Values are not restored into a removed object, and their previous values are visible elsewhere.
        let into = level.operations.iter().map(|operation| operation.places.of(to));
        let into = into.filter(|places| places.iter().any(|place| segments(&place.path).starts_with(at)));
        found.extend(into.flatten().map(|place| segments(&place.path)));
        found.push(at.to_vec());
    }
    found
}

/// The operations under a condition on a place or its contents.
fn depending<'l>(level: &'l Level, at: &'l [Segment]) -> impl Iterator<Item = &'l Operation> {
    level.operations.iter().filter(move |operation| {
        let fields = operation.conditions.iter().flat_map(|condition| condition_fields(level, condition));
        let mut fields = fields.map(|field| segments(&field.path));
        fields.any(|field| at.starts_with(&field) || field.starts_with(at))
    })
}

/// The field of a condition, or the field of the lookup of its fact.
fn condition_fields<'l>(level: &'l Level, condition: &'l Condition) -> impl Iterator<Item = &'l Place> {
    let facts = level.facts.iter().filter(|fact| condition.fact() == Some(&fact.name));
    condition.field().into_iter().chain(facts.map(|fact| &fact.secret))
}

/// The object of one version alone around a place, if the other version has another value there.
fn in_the_place_of(level: &Level, to: Side, place: &Path) -> Option<Vec<Segment>> {
    let mut cuts = level.frontier.cuts.iter();
    let cut = cuts.find_map(|cut| {
        let path = if cut.id == "." { Path::default() } else { Path::parse(&cut.id).ok()? };
        (place.starts_with(&path) && !matches!(cut.parts.of(to.other()), Part::Unknown)).then_some(path)
    })?;
    Some(segments(&cut))
}
