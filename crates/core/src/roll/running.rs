//! Which versions run in a fleet, as far as that is certain: for whoever may write only above or below one.

use serde::{Deserialize, Serialize};

use super::fleet_object::FleetObject;
use super::fleet_view::FleetView;
use super::standing::Standing;
use super::status::RollStatus;
use crate::upgrade;

/// A version that runs.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RunningVersion {
    /// As the label has it.
    pub version: String,
    /// The same so that texts are in the order of versions: policies compare them on any Kubernetes.
    pub order: String,
}

impl RunningVersion {
    /// Of a version as a label has it. Nothing where it is none.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let version = upgrade::version(text)?;
        // What comes before a release comes before it here as well.
        let release = if version.pre.is_empty() { '~' } else { '-' };
        let order = format!("{:020}.{:020}.{:020}{release}", version.major, version.minor, version.patch);
        Some(Self { version: text.to_owned(), order })
    }
}

/// The lowest and the highest version that may be running. Nothing of both where that is not known of one object. What
/// is under way may still be in the hands of the old version, and a cache may not know of an object that came: by what
/// is not certain the lowest one only sinks, and the highest one only rises.
pub(super) fn running(
    view: &FleetView<'_, '_>,
    before: &RollStatus,
    consistent: bool,
) -> (Option<RunningVersion>, Option<RunningVersion>) {
    let there = view.all().filter(|(_, standing)| **standing != Standing::Gone);
    let seen: Option<Vec<RunningVersion>> =
        there.flat_map(|(object, _)| versions(view, object)).map(|text| RunningVersion::of(text?)).collect();
    let Some(mut seen) = seen else { return (None, None) };
    if !consistent {
        let (Some(lowest), Some(highest)) = (&before.lowest, &before.highest) else { return (None, None) };
        seen.extend([lowest.clone(), highest.clone()]);
    }
    seen.sort_by(|one, two| one.order.cmp(&two.order));
    (seen.first().cloned(), seen.last().cloned())
}

/// What an object may be run by: two versions while it is under way.
fn versions<'o>(view: &FleetView<'_, '_>, object: &'o FleetObject) -> Vec<Option<&'o str>> {
    let mark = object.mark_of(view.roll).filter(|_| view.status.reservation(&object.uid).is_some());
    let both = mark.map(|mark| [mark.was.as_deref(), Some(mark.to.as_str())]);
    [object.version()].into_iter().chain(both.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_in_the_order_of_versions() {
        let versions =
            ["v0.9", "1.2.3-rc.1", "1.2.3", "1.2.4", "1.10", "v2", "10.0.0-beta", "10.0.0", "18446744073709551615"];
        let orders: Vec<String> = versions.iter().map(|text| RunningVersion::of(text).unwrap().order).collect();
        assert!(orders.is_sorted_by(|one, two| one < two), "{orders:#?}");
        let same =
            |one: &str, two: &str| RunningVersion::of(one).unwrap().order == RunningVersion::of(two).unwrap().order;
        assert!(same("v1.2", "1.2.0") && same("1.2.3+a", "1.2.3+b"));
        for text in ["", "latest", "1.2.3.4", "1.x"] {
            assert_eq!(RunningVersion::of(text), None, "{text}");
        }
    }
}
