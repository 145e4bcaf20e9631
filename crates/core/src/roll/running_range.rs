//! Which versions run in a fleet, as far as that is certain: for whoever may write only above or below one.

use super::fleet_object::FleetObject;
use super::fleet_view::FleetView;
use super::ordered_version::OrderedVersion;
use super::standing::Standing;
use super::status::RollStatus;

/// The lowest and the highest version that may be running. Nothing of both where that is not known of one object. What
/// is under way may still be in the hands of the old version, and a cache may not know of an object that came: by what
/// is not certain the lowest one only sinks, and the highest one only rises.
pub(super) fn running_range(
    view: &FleetView<'_, '_>,
    before: &RollStatus,
    consistent: bool,
) -> (Option<OrderedVersion>, Option<OrderedVersion>) {
    let there = view.all().filter(|(object, standing)| **standing != Standing::Gone && !object.is_run());
    let seen: Option<Vec<OrderedVersion>> =
        there.flat_map(|(object, _)| versions(view, object)).map(|text| OrderedVersion::of(text?)).collect();
    let Some(mut seen) = seen else { return (None, None) };
    if !consistent {
        let (Some(lowest), Some(highest)) = (&before.lowest, &before.highest) else { return (None, None) };
        seen.extend([lowest.clone(), highest.clone()]);
    }
    seen.sort_by(|one, two| one.order.cmp(&two.order));
    (seen.first().cloned(), seen.last().cloned())
}

/// What an object may be run by: two versions while it is under way.
fn versions<'o>(view: &'o FleetView<'_, '_>, object: &'o FleetObject) -> Vec<Option<&'o str>> {
    if object.legs.is_some() {
        let is_under_way = view.status.reservation(&object.uid).is_some();
        let of_roll = [view.roll.from(), Some(view.roll.to())].into_iter().flatten().filter(|_| is_under_way);
        let seen = object.runs.iter().map(Option::as_deref);
        // Of one that says nothing nobody knows.
        let unknown = object.runs.is_empty().then_some(None);
        return seen.chain(unknown).chain(of_roll.map(Some)).collect();
    }
    let mark = object.mark_of(view.roll).filter(|_| view.status.reservation(&object.uid).is_some());
    let both = mark.map(|mark| [mark.was.as_deref(), Some(mark.to.as_str())]);
    [object.version()].into_iter().chain(both.into_iter().flatten()).collect()
}
