//! What the conversion of the status notes on an object of the older version.

use super::object_writer::{Add, ObjectWriter};
use crate::json::Json;

/// The names of the members, in the order in which they are written.
const NAMES: [&str; 5] = ["request", "completed", "returned", "at", "absent"];

/// Which of what stands in the status we wrote ourselves.
#[derive(Debug, Default)]
pub(crate) struct Notes<'a> {
    /// `request`: the request that we made up: not the user's while it is untouched.
    pub(crate) request: Option<Json<'a>>,
    /// `completed`: the completed request that we made up.
    pub(crate) completed: Option<Json<'a>>,
    /// `returned`: a completed request that was kept and given back: somebody wrote the field if it holds another one.
    pub(crate) returned: Option<Json<'a>>,
    /// `at`: the rollout hash at which the completed request was found to say something else than the hashes. It stays
    /// so while the hash is this one.
    pub(crate) found_at: Option<Json<'a>>,
    /// `absent`: the paths of the hashes that the status did not have: one that is missing without being in this list
    /// was dropped by somebody.
    pub(crate) absent_hashes: Option<Json<'a>>,
}

impl<'a> Notes<'a> {
    /// Reads notes. `None` if there is a member that we do not write.
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

    /// Whether the status is known not to have had the hash at a path.
    pub(crate) fn notes_absence_of(&self, path: &str) -> bool {
        self.absent_hashes
            .as_ref()
            .is_some_and(|absent| absent.elements().iter().any(|id| id.as_str().as_deref() == Some(path)))
    }
}
