//! Checks that a step does not rely on an object that a later step removes or creates.
//!
//! A user removes `backup` at v1 and keeps `days`:
//!
//! ```text
//! v1  backup: {color: red}, days: 3        v1 and v2: move `days` to `backup.days`
//! v2  backup: {color: red, days: 3}        v2 and v3: `legacy` is v3's alone
//! v3  backup: {color: red, days: 3, legacy: y}
//! ```
//!
//! On the conversion back to v3, v2 creates the object again, and v3 must not restore `legacy` into it. The steps of a
//! conversion path share the paths of the objects that they created. Items have no stable path while lists change, and
//! a renamed object leaves its path. In those cases the check rejects the definition.

use super::frontier::Part;
use super::operation::{Level, Operation};
use super::path::Path;
use super::problems::Problems;
use super::remedy::Remedy;
use super::side::Side;
use super::step::Step;

/// An object, by the paths that lead to it. Each path except the last is that of a list or map, relative to the
/// enclosing item.
type ObjectPath = Vec<Path>;

/// An object that an operation creates if it is absent.
struct MadeObject {
    place: ObjectPath,
    /// The line of the operation.
    line: u64,
}

/// A place that has kept values.
struct KeptPlace {
    path: String,
    /// The line of the operation that keeps the value.
    line: u64,
}

/// Reports combinations of steps, oldest first, that cannot work together.
pub(super) fn check(steps: &[Step], problems: &mut Problems) {
    for (at, step) in steps.iter().enumerate() {
        let (older, newer) = (steps.get(..at).unwrap_or_default(), steps.get(at + 1..).unwrap_or_default());
        let ways = [(Side::Older, older.iter().rev().collect::<Vec<_>>()), (Side::Newer, newer.iter().collect())];
        for (to, behind) in ways.into_iter().filter(|(_, behind)| !behind.is_empty()) {
            for made in objects_made(&step.level, to, true) {
                if let Some((keeper, kept)) = kept_inside(&behind, to, &made.place) {
                    let line = if made.line > 0 { made.line } else { kept.line };
                    problems.advise(line, message(step, to, &made.place, (keeper, &kept.path)), Remedy::Crd);
                }
            }
        }
    }
}

fn message(step: &Step, to: Side, object: &ObjectPath, (keeper, kept): (&Step, &str)) -> String {
    let object = shown(object);
    format!(
        "{object}: a client that removes the object in {} removes its fields too, but a later field in {} creates the object \
         again, and {kept}, kept between {} and {}, would return. In a list item, or with a rename in between, the removal \
         leaves no trace, so that no operation can express both. Put both into one step, or move one of the two to another \
         object",
        step.versions.of(to.other()),
        step.versions.of(to),
        keeper.versions.older,
        keeper.versions.newer,
    )
}

/// Returns the objects of both versions that a step creates on a side. If `whole` is true, the level is the object
/// itself, whose top-level objects always stay.
fn objects_made(level: &Level, to: Side, whole: bool) -> Vec<MadeObject> {
    let mut found: Vec<MadeObject> = Vec::new();
    for held in level.frontier.holders.iter().skip(1) {
        let Ok(path) = Path::parse(&held.id) else { continue };
        let makes = |operation: &&Operation| {
            let inside = |side| operation.places.of(side).iter().any(|place| place.path.strip(&path).is_some());
            let outside = || operation.places.of(to.other()).iter().any(|place| !place.path.starts_with(&path));
            inside(to) && outside()
        };
        let maker = level.operations.iter().find(makes);
        if maker.is_some() || held.fills.of(to).is_some() {
            let fields = || level.operations.iter().find(|operation| inside_of(operation, &path));
            let line = maker.or_else(fields).map_or(0, |operation| operation.line);
            if !whole || path.len() > 1 {
                found.push(MadeObject { place: vec![path], line });
            }
        }
    }
    // An object of one version alone stays while values wait in it. For an item this is unknown.
    for cut in level.frontier.cuts.iter().filter(|cut| !whole && matches!(cut.parts.of(to), Part::Object(_))) {
        let Ok(path) = Path::parse(&cut.id) else { continue };
        let inside =
            |operation: &&Operation| operation.places.of(to).iter().any(|place| place.path.strip(&path).is_some());
        let line = level.operations.iter().filter(inside).map(|operation| operation.line).max().unwrap_or_default();
        found.push(MadeObject { place: vec![path], line });
    }
    for operation in &level.operations {
        let Some((items, list)) = operation.items().zip(operation.places.of(to).first()) else { continue };
        for MadeObject { mut place, line } in objects_made(&items.level, to, false) {
            place.insert(0, list.path.clone());
            found.push(MadeObject { place, line });
        }
    }
    found
}

/// Returns whether an operation of the file concerns a field inside an object.
fn inside_of(operation: &Operation, object: &Path) -> bool {
    operation.line > 0 && operation.all_places().any(|place| place.path.strip(object).is_some())
}

/// Returns the first later step that keeps a value inside of a created object, if the step must know that for an item
/// or a renamed object.
fn kept_inside<'s>(behind: &[&'s Step], to: Side, made: &ObjectPath) -> Option<(&'s Step, KeptPlace)> {
    let mut place = made.clone();
    for step in behind {
        if (made.len() > 1 || place != *made)
            && let Some(kept) = keeps(&step.level, to, &place)
        {
            return Some((step, kept));
        }
        place = across(&step.level, to, &place)?;
    }
    None
}

/// Returns a value that a step may keep inside of an object: any field that an operation concerns, or the rest of the
/// object.
fn keeps<'l>(level: &'l Level, to: Side, object: &[Path]) -> Option<KeptPlace> {
    let (path, inside) = object.split_first()?;
    if !inside.is_empty() {
        let operation = list_at(level, to, path)?;
        let list = operation.places.of(to).first()?;
        let kept = keeps(&operation.items()?.level, to, inside)?;
        return Some(KeptPlace { path: format!("{}[*].{}", list.path, kept.path), ..kept });
    }
    let places = |operation: &'l Operation| operation.all_places().map(move |place| (place, operation.line));
    let mut inside = level.operations.iter().flat_map(places).filter(|(place, _)| place.path.strip(path).is_some());
    inside.next().map(|(place, line)| KeptPlace { path: place.path.to_string(), line })
}

/// Returns the place of an object after a step, or `None` if the object does not exist there.
fn across(level: &Level, to: Side, object: &[Path]) -> Option<ObjectPath> {
    let (path, inside) = object.split_first()?;
    let covers =
        |operation: &&Operation| operation.places.of(to.other()).iter().any(|place| path.starts_with(&place.path));
    let Some(operation) = level.operations.iter().find(covers) else { return Some(object.to_vec()) };
    let (from, place) = (operation.places.of(to.other()).first()?, operation.places.of(to).first()?);
    let moved = path.moved(&from.path, &place.path);
    let inside = match operation.items() {
        Some(items) if !inside.is_empty() => across(&items.level, to, inside)?,
        None if operation.is_same() => inside.to_vec(),
        _ => return None,
    };
    Some([vec![moved], inside].concat())
}

/// Returns the operation on the items of a list of the side that is read.
fn list_at<'l>(level: &'l Level, to: Side, path: &Path) -> Option<&'l Operation> {
    let mut operations = level.operations.iter().filter(|operation| operation.items().is_some());
    operations.find(|operation| operation.places.of(to.other()).first().is_some_and(|place| place.path == *path))
}

fn shown(object: &ObjectPath) -> String {
    object.iter().map(Path::to_string).collect::<Vec<_>>().join("[*].")
}
