//! The hold annotations of an object.

use crate::spec::rollout::Rollout;
use pointsman_core::definition::{HELD, HoldMark, WANTED};

/// The hold annotations of an object.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct HoldAnnotations {
    /// The hold annotation, and its content if valid.
    pub(crate) mark: Option<(String, Option<HoldMark>)>,
    /// The version label that another client requested during the hold.
    pub(crate) wanted: Option<String>,
}

impl HoldAnnotations {
    /// Reads them from the annotations of an object.
    pub(crate) fn of<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Option<Box<Self>> {
        let mark = annotation(HELD).map(|text| (text.to_owned(), HoldMark::read(text)));
        let wanted = annotation(WANTED).map(str::to_owned);
        (mark.is_some() || wanted.is_some()).then(|| Box::new(Self { mark, wanted }))
    }

    /// The hold: its text, and the rollout that holds.
    pub(crate) fn hold(&self) -> Option<(&str, &HoldMark)> {
        let (text, mark) = self.mark.as_ref()?;
        Some((text.as_str(), mark.as_ref()?))
    }

    /// A hold of this rollout, as read. Names are unique, so a hold under this name belongs to a deleted rollout, and
    /// this one releases it.
    pub(crate) fn hold_of(&self, rollout: &Rollout) -> Option<&str> {
        let (text, mark) = self.hold()?;
        (mark.rollout == rollout.uid || mark.name == rollout.name).then_some(text)
    }
}
