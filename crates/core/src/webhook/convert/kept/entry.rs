//! What an annotation holds about one field.

use super::values;
use crate::definition::{Fragment, Place};
use crate::json::{Json, Members};
use crate::webhook::convert::tree::Was;

/// What is kept of one field. All members are optional; an entry without any says that the field was absent, and became
/// absent. A member that is not in this table is passed over, and so is one that holds what it cannot mean.
#[derive(Debug, Default)]
pub(in crate::webhook::convert) struct Entry<'a> {
    /// `was`: what an object on the way to moved fields was before they moved in: `absent`, `empty` or `null`.
    pub(in crate::webhook::convert) was: Option<Json<'a>>,
    /// `value`: the field's value in the version that the annotation is named after. Given back while what it became is
    /// untouched.
    pub(in crate::webhook::convert) value: Option<Json<'a>>,
    /// `became`: what the value was turned into.
    pub(in crate::webhook::convert) became: Option<Json<'a>>,
    /// `derived`: a value that we made up: not the user's while it is untouched.
    pub(in crate::webhook::convert) derived: Option<Json<'a>>,
    /// `left`: a kept value that was given back: somebody wrote the field if it holds another one.
    pub(in crate::webhook::convert) given_back: Option<Json<'a>>,
    /// `at`: the rollout hash at which the completed request was found to say something else than the hashes. It stays so
    /// while the hash is this one.
    pub(in crate::webhook::convert) found_at: Option<Json<'a>>,
    /// `absent`: the paths of the hashes that the status did not have: one that is missing without being in this list was
    /// dropped by somebody.
    pub(in crate::webhook::convert) absent_hashes: Option<Json<'a>>,
    /// `each`: the same for the items of a list or map: pairs of what tells an item apart, and its entries.
    pub(in crate::webhook::convert) each: Option<Json<'a>>,
}

impl<'a> Entry<'a> {
    /// Reads an entry. What is no object is read as one without members.
    pub(super) fn read(json: Json<'a>) -> Self {
        let mut entry = Self::default();
        for (name, value) in json.into_members() {
            let place = entry.members().into_iter().find(|(member, _)| *member == name);
            if let Some((_, place)) = place {
                // Of two members with one name the first counts, as it always did.
                place.get_or_insert(value);
            }
        }
        entry
    }

    /// Writes an entry. An object of the form that [`Self::read`] reads.
    pub(super) fn into_json(mut self) -> Json<'a> {
        let mut written = Members::default();
        for (name, value) in self.members() {
            if let Some(value) = value.take() {
                written.set(name, value);
            }
        }
        Json::Object(written)
    }

    /// The names of the members, in the order in which they are written.
    fn members(&mut self) -> [(&'static str, &mut Option<Json<'a>>); 8] {
        [
            ("was", &mut self.was),
            ("value", &mut self.value),
            ("became", &mut self.became),
            ("derived", &mut self.derived),
            ("left", &mut self.given_back),
            ("at", &mut self.found_at),
            ("absent", &mut self.absent_hashes),
            ("each", &mut self.each),
        ]
    }

    /// The kept values, if what they became is untouched and the schema admits them. `now` is what stands there now.
    pub(in crate::webhook::convert) fn give_back<'b>(
        &self,
        places: &[Place],
        now: &[Option<Json<'_>>],
    ) -> Option<Fragment<'b>> {
        if [&self.derived, &self.given_back, &self.was, &self.each].into_iter().any(Option::is_some)
        {
            return None;
        }
        let became = values::read(self.became.as_ref(), now.len())?;
        let value = values::read(self.value.as_ref(), places.len())?;
        let untouched = values::same(&became, now);
        let admitted = value.iter().zip(places).all(|(value, place)| match value {
            Some(value) => place.schema.admits(value),
            None => !(place.required && place.fill.is_some()),
        });
        (untouched && admitted).then_some(value)
    }

    /// Keeps values, with what they became.
    pub(in crate::webhook::convert) fn keep(
        &mut self,
        value: &[Option<Json<'a>>],
        became: &[Option<Json<'a>>],
    ) {
        for (member, values) in [(&mut self.value, value), (&mut self.became, became)] {
            if let Some(written) = values::write(values) {
                *member = Some(written);
            }
        }
    }

    /// What an object on the way to a field was.
    pub(in crate::webhook::convert) fn was(&self) -> Option<Was> {
        match self.was.as_ref()?.as_str()?.as_ref() {
            "absent" => Some(Was::Absent),
            "empty" => Some(Was::Empty),
            "null" => Some(Was::Null),
            _ => None,
        }
    }

    pub(in crate::webhook::convert) fn set_was(&mut self, was: Was) {
        self.was = Some(Json::string(match was {
            Was::Absent => "absent",
            Was::Empty => "empty",
            Was::Null => "null",
        }));
    }

    /// Whether the status is known not to have had the hash at a path.
    pub(in crate::webhook::convert) fn notes_absence_of(&self, path: &str) -> bool {
        self.absent_hashes.as_ref().is_some_and(|absent| {
            absent.elements().iter().any(|id| id.as_str().as_deref() == Some(path))
        })
    }
}
