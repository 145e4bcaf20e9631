//! What stands on an object of holds.

use super::fleet_rollout::Rollout;
use crate::definition::{HELD, HoldMark, WANTED};

/// What stands on an object of holds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct HoldAnnotations {
    /// The annotation, and what it says where that is a hold.
    pub(super) mark: Option<(String, Option<HoldMark>)>,
    /// The version label that somebody has asked for meanwhile.
    pub(super) wanted: Option<String>,
}

impl HoldAnnotations {
    /// By the annotations of an object.
    pub(super) fn of<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Option<Box<Self>> {
        let mark = annotation(HELD).map(|text| (text.to_owned(), HoldMark::read(text)));
        let wanted = annotation(WANTED).map(str::to_owned);
        (mark.is_some() || wanted.is_some()).then(|| Box::new(Self { mark, wanted }))
    }

    /// A hold, as it was read, and by which rollout it is.
    pub(super) fn hold(&self) -> Option<(&str, &HoldMark)> {
        let (text, mark) = self.mark.as_ref()?;
        Some((text.as_str(), mark.as_ref()?))
    }

    /// A hold of this rollout, as it was read. No two rollouts have a name at a time: one that had it before is there
    /// no more, and nobody else lets go what that held.
    pub(super) fn hold_of(&self, rollout: &Rollout) -> Option<&str> {
        let (text, mark) = self.hold()?;
        (mark.rollout == rollout.uid || mark.name == rollout.name).then_some(text)
    }
}
