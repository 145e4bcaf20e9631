//! Where an object of one version is in another one, by the definition alone.

use super::trip::Trip;
use super::value::Segment;
use crate::definition::{Level, Path, Side};

/// Where an object of the version where a way ends was in the version where it starts. `None` where it was no such
/// object: an operation makes it, or takes it apart.
pub(super) fn where_it_came_from(trip: &Trip<'_>, object: &[Segment]) -> Option<Vec<Segment>> {
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
        // Where an operation puts something in its place, that is another one.
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
