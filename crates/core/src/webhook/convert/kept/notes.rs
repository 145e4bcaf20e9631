//! Notes of the status conversion on an object of the older version.

use super::object_writer::{Add, ObjectWriter};
use crate::json::Json;

/// The names of the members, in written order.
const NAMES: [&str; 5] = ["request", "completed", "returned", "at", "absent"];

/// The derived values in the status.
#[derive(Debug, Default)]
pub(crate) struct Notes<'a> {
    /// `request`: the derived request. It does not belong to the user while unchanged.
    pub(crate) request: Option<Json<'a>>,
    /// `completed`: the derived completed request.
    pub(crate) completed: Option<Json<'a>>,
    /// `returned`: a kept completed request that was restored. If the field differs, a client wrote it.
    pub(crate) returned: Option<Json<'a>>,
    /// `at`: the rollout hash at which the completed request did not match the hashes. The request stays while the hash
    /// is unchanged.
    pub(crate) found_at: Option<Json<'a>>,
    /// `absent`: the paths of the absent hashes. An absent hash that is not in this list was dropped by a client.
    pub(crate) absent_hashes: Option<Json<'a>>,
}

impl<'a> Notes<'a> {
    /// Parses notes. `None` if there is an unknown member.
    pub(super) fn read(json: Json<'a>) -> Option<Self> {
        let mut notes = Self::default();
        json.is_object().then_some(())?;
        for (name, value) in json.into_members() {
            let mut members = NAMES.into_iter().zip(notes.members());
            let (_, place) = members.find(|(member, _)| *member == name)?;
            *place = Some(value);
        }
        Some(notes)
    }

    fn members(&mut self) -> [&mut Option<Json<'a>>; 5] {
        let Self { request, completed, returned, found_at, absent_hashes } = self;
        [request, completed, returned, found_at, absent_hashes]
    }

    pub(super) fn is_empty(&self) -> bool {
        let Self { request, completed, returned, found_at, absent_hashes } = self;
        [request, completed, returned, found_at, absent_hashes].into_iter().all(Option::is_none)
    }

    pub(super) fn write(&self, add: &mut Add<'_>) {
        let Self { request, completed, returned, found_at, absent_hashes } = self;
        let values = [request, completed, returned, found_at, absent_hashes];
        let mut writer = ObjectWriter::begin(add);
        for (name, value) in NAMES.into_iter().zip(values) {
            if let Some(value) = value {
                writer.add(name, value);
            }
        }
        writer.end();
    }

    /// Returns whether the hash at a path is recorded as absent.
    pub(crate) fn notes_absence_of(&self, path: &str) -> bool {
        self.absent_hashes
            .as_ref()
            .is_some_and(|absent| absent.elements().iter().any(|id| id.as_str().as_deref() == Some(path)))
    }
}
