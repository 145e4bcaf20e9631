//! What stands on an object of holds.

use crate::definition::{HELD, HoldMark, WANTED};

/// What stands on an object of holds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Held {
    /// The annotation, and what it says where that is a hold.
    pub(super) mark: Option<(String, Option<HoldMark>)>,
    /// The version label that somebody has asked for meanwhile.
    pub(super) wanted: Option<String>,
}

impl Held {
    /// By the annotations of an object.
    pub(super) fn of<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Option<Box<Self>> {
        let mark = annotation(HELD).map(|text| (text.to_owned(), HoldMark::read(text)));
        let wanted = annotation(WANTED).map(str::to_owned);
        (mark.is_some() || wanted.is_some()).then(|| Box::new(Self { mark, wanted }))
    }
}
