//! Which versions run in a fleet, as far as that is certain: for whoever may write only above or below one.

use std::collections::{BTreeSet, HashMap};

use super::fleet_object::FleetObject;
use super::fleet_roll::FleetRoll;
use super::fleet_view::FleetView;
use super::ordered_version::OrderedVersion;
use super::standing::Standing;
use super::status::{Reservation, RollStatus};

/// The lowest and the highest version that may be running. Nothing of both where that is not known of one object. What
/// is under way may still be in the hands of the old version, and a cache may not know of an object that came: by what
/// is not certain the lowest one only sinks, and the highest one only rises.
pub(super) fn running_range(
    view: &FleetView<'_, '_>,
    before: &RollStatus,
    consistent: bool,
) -> (Option<OrderedVersion>, Option<OrderedVersion>) {
    let is_one = |object: &FleetObject| !object.is_run() && object.former.is_none();
    let there = view.all().filter(|(object, standing)| **standing != Standing::Gone && is_one(object));
    // A fleet of many objects has few versions.
    let reserved = view.status.reservations();
    let mut all: BTreeSet<Option<&str>> = BTreeSet::new();
    for (object, _) in there {
        versions(view.roll, &reserved, object, &mut all);
    }
    let seen: Option<Vec<OrderedVersion>> = all.into_iter().map(|text| OrderedVersion::of(text?)).collect();
    let Some(mut seen) = seen else { return (None, None) };
    if !consistent {
        let (Some(lowest), Some(highest)) = (&before.lowest, &before.highest) else { return (None, None) };
        seen.extend([lowest.clone(), highest.clone()]);
    }
    seen.sort_by(|one, two| one.order.cmp(&two.order));
    (seen.first().cloned(), seen.last().cloned())
}

/// What an object may be run by: two versions while it is under way.
fn versions<'o>(
    roll: &'o FleetRoll,
    reserved: &HashMap<&str, &Reservation>,
    object: &'o FleetObject,
    all: &mut BTreeSet<Option<&'o str>>,
) {
    let is_under_way = reserved.contains_key(object.uid());
    if object.legs.is_none() {
        all.insert(object.version());
        if let Some(mark) = object.mark_of(roll).filter(|_| is_under_way) {
            all.extend([mark.was.as_deref(), Some(mark.to.as_str())]);
        }
        return;
    }
    if is_under_way {
        all.extend([roll.from(), Some(roll.to())].into_iter().flatten().map(Some));
    }
    all.extend(object.runs.iter().map(Option::as_deref));
    if object.runs.is_empty() {
        // Of one that says nothing nobody knows.
        all.insert(None);
    }
}
