//! The range of versions running in a fleet, as far as known, for clients that may write only above or below a version.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::fleet_view::FleetView;
use crate::observe::facts::PlanInput;
use crate::observe::fleet_object::FleetObject;
use crate::observe::status::{InFlightObject, RolloutStatus};
use crate::spec::rollout::Rollout;
use crate::spec::versions::{OrderedVersion, VersionRange};
use pointsman_core::definition::admission::PartVersions;

/// The known range of running versions.
pub(crate) struct RunningRange {
    /// Over whole objects.
    pub(crate) whole: Option<VersionRange>,
    /// By part name; parts with unknown versions are missing.
    pub(crate) parts: BTreeMap<String, VersionRange>,
}

/// The lowest and highest version that may run. `None` if one object is unknown. Objects in flight may still run the
/// old version, and a cache may miss a new object: with stale data, the lowest version can only fall and the highest
/// only rise.
pub(crate) fn running_range(view: &FleetView<'_, '_>, before: &RolloutStatus, facts: &PlanInput) -> RunningRange {
    let (rollout, consistent) = (view.rollout, facts.consistent);
    let is_one = |object: &FleetObject| !object.is_run() && object.replacement_uid.is_none();
    // A terminating object runs until it is deleted.
    let there = view.fleet.iter().filter(|object| is_one(object));
    let there: Vec<Running<'_>> = there.map(|object| (object, object.runs(rollout, &facts.answers))).collect();
    let reserved = view.status.in_flight_objects();
    let mut whole = BTreeSet::new();
    there.iter().for_each(|object| versions(rollout, &reserved, object, &mut whole));
    let parts = rollout.parts().enumerate().filter_map(|(at, part)| {
        let mut all = BTreeSet::new();
        there.iter().for_each(|object| part_versions(rollout, &reserved, object, at, &mut all));
        Some((part.to_owned(), range(all, before.parts.get(part).cloned(), consistent)?))
    });
    RunningRange { parts: parts.collect(), whole: range(whole, before.whole_range(), consistent) }
}

/// An object, and the running versions of its parts.
type Running<'o> = (&'o FleetObject, Vec<PartVersions>);

/// The range of versions; `None` if one is unknown. Even a large fleet has few versions.
fn range(seen: BTreeSet<Option<&str>>, before: Option<VersionRange>, consistent: bool) -> Option<VersionRange> {
    let mut seen: Vec<OrderedVersion> =
        seen.into_iter().map(|text| OrderedVersion::of(text?)).collect::<Option<_>>()?;
    if !consistent {
        let VersionRange { lowest, highest } = before?;
        seen.extend([lowest, highest]);
    }
    seen.sort_by(|one, two| one.order.cmp(&two.order));
    Some(VersionRange { lowest: seen.first()?.clone(), highest: seen.last()?.clone() })
}

/// The versions that may run an object: two while it is in flight.
fn versions<'o>(
    rollout: &'o Rollout,
    reserved: &HashMap<&str, &InFlightObject>,
    (object, runs): &'o Running<'_>,
    all: &mut BTreeSet<Option<&'o str>>,
) {
    all.extend(meanwhile(rollout, reserved, object));
    if object.object_progress.is_none() {
        all.insert(object.version());
        return;
    }
    for part in runs {
        match part {
            Ok(versions) => all.extend(versions.iter().map(|version| Some(version.as_str()))),
            Err(_) => all.extend([None]),
        }
    }
}

/// The same for one part, if present. The parts that a workflow changes are unknown.
fn part_versions<'o>(
    rollout: &'o Rollout,
    reserved: &HashMap<&str, &InFlightObject>,
    (object, runs): &'o Running<'_>,
    at: usize,
    all: &mut BTreeSet<Option<&'o str>>,
) {
    match runs.get(at) {
        Some(Ok(versions)) if versions.is_empty() => return,
        Some(Ok(versions)) => all.extend(versions.iter().map(|version| Some(version.as_str()))),
        Some(Err(_)) | None => all.extend([None]),
    }
    all.extend(meanwhile(rollout, reserved, object));
}

/// The versions that may run an in-flight object, regardless of its observed state. Empty if its annotation is missing.
fn meanwhile<'o>(
    rollout: &'o Rollout,
    reserved: &HashMap<&str, &InFlightObject>,
    object: &'o FleetObject,
) -> Vec<Option<&'o str>> {
    if !reserved.contains_key(object.uid()) {
        return Vec::new();
    }
    match (&object.object_progress, object.annotation_of(rollout)) {
        (Some(_), _) => [rollout.from(), Some(rollout.to())].into_iter().flatten().map(Some).collect(),
        (None, Some(mark)) => vec![mark.was.as_deref(), Some(mark.to.as_str())],
        (None, None) => Vec::new(),
    }
}
