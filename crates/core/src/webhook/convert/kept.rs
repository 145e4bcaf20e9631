//! What the version an object is in cannot say, in an annotation on it.
//!
//! The annotation is a JSON object: from a field's path to an entry.
//!
//! | entry | means |
//! |---|---|
//! | `value`, `became` | the field's value, and what it was turned into: given back while that is untouched; absence is absence |
//! | `derived` | a value we made up in this version: not the user's while it is untouched |
//! | `left` | a kept value that we gave back: somebody wrote the field if it is another one |
//! | `was` | what an object on the way to moved fields was before they moved in: `absent`, `empty`, `null` |
//! | `each` | the same for the items of a list or map: pairs of what tells an item apart, and its entries |
//!
//! Whoever may write annotations gains nothing by forging one: entries for fields that nothing keeps are passed over,
//! and values that the schema does not admit are too. What is no such object at all is somebody else's annotation.

use std::collections::{HashMap, HashSet, VecDeque};

use super::tree::Was;
use crate::definition::{Fragment, Place};
use crate::json::{Json, Members, normal, spelled};

/// Entries that were read, or are being written.
#[derive(Debug, Default)]
pub(super) struct Kept<'a>(Members<'a>);

impl<'a> Kept<'a> {
    /// Reads entries. `None` if this is not the form that we write.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let mut json = Json::parse(text).ok()?;
        let members = json.open().ok()??;
        let entries = members.iter().all(|(_, entry)| entry.is_object());
        (entries && !members.is_empty()).then(|| Self(std::mem::take(members)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of these is about a field that has an entry.
    pub(super) fn mentions(&self, mut known: impl FnMut(&str) -> bool) -> bool {
        self.0.iter().any(|(id, _)| known(id))
    }

    /// A member of a field's entry.
    pub(super) fn get<'b>(&self, id: &str, member: &str) -> Option<Json<'b>> {
        self.0.get(id).and_then(|entry| entry.get(member)).map(|value| value.view().into_owned())
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.0.get(id).is_some()
    }

    /// Adds to a field's entry.
    pub(super) fn add(&mut self, id: &str, member: &str, value: Json<'a>) {
        if self.0.get(id).is_none() {
            self.0.set(id, Json::Object(Members::default()));
        }
        if let Some(Ok(Some(entry))) = self.0.get_mut(id).map(Json::open) {
            entry.set(member, value);
        }
    }

    /// An entry with nothing in it says: the field was absent, and became absent.
    pub(super) fn note(&mut self, id: &str) {
        if self.0.get(id).is_none() {
            self.0.set(id, Json::Object(Members::default()));
        }
    }

    /// Keeps a fragment, with what it became.
    pub(super) fn keep(&mut self, id: &str, value: &Fragment<'a>, became: &Fragment<'a>) {
        self.note(id);
        for (member, fragment) in [("value", value), ("became", became)] {
            if let Some(written) = write(fragment) {
                self.add(id, member, written);
            }
        }
    }

    /// Gives a fragment back if what it became is untouched and the schema admits it.
    pub(super) fn give_back<'b>(
        &self,
        id: &str,
        places: &[Place],
        now: &Fragment<'_>,
    ) -> Option<Fragment<'b>> {
        let entry = self.0.get(id)?;
        if ["derived", "left", "was", "each"].iter().any(|other| entry.get(other).is_some()) {
            return None;
        }
        let became = read(entry.get("became"), now.len())?;
        let value = read(entry.get("value"), places.len())?;
        let untouched = same(&became, now);
        let admitted = value.iter().zip(places).all(|(value, place)| match value {
            Some(value) => place.schema.admits(value),
            None => !(place.required && place.fill.is_some()),
        });
        (untouched && admitted).then_some(value)
    }

    pub(super) fn was(&self, id: &str) -> Option<Was> {
        match self.0.get(id)?.get("was")?.as_str()?.as_ref() {
            "absent" => Some(Was::Absent),
            "empty" => Some(Was::Empty),
            "null" => Some(Was::Null),
            _ => None,
        }
    }

    pub(super) fn note_was(&mut self, id: &str, was: Was) {
        let was = match was {
            Was::Absent => "absent",
            Was::Empty => "empty",
            Was::Null => "null",
        };
        self.add(id, "was", Json::string(was));
    }

    pub(super) fn into_json(self) -> Json<'a> {
        Json::Object(self.0)
    }
}

/// The entries that were left for items, by what tells an item apart. Items that look alike get theirs in order.
#[derive(Debug, Default)]
pub(super) struct Items<'a>(HashMap<String, VecDeque<Kept<'a>>>);

impl<'a> Items<'a> {
    pub(super) fn read(each: Option<Json<'a>>) -> Self {
        let pair = |mut pair: Json<'a>| {
            let elements = pair.open_array()?;
            let mut entries = elements.pop()?;
            let members = entries.open().ok()??;
            let kept = Kept(std::mem::take(members));
            Some((normal(&elements.pop()?.to_text()), kept))
        };
        let Some(mut each) = each else {
            return Self::default();
        };
        let Some(elements) = each.open_array() else {
            return Self::default();
        };
        let mut items: HashMap<String, VecDeque<Kept<'a>>> = HashMap::new();
        for (identity, kept) in std::mem::take(elements).into_iter().filter_map(pair) {
            items.entry(identity).or_default().push_back(kept);
        }
        Self(items)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries of the next item that is told apart so.
    pub(super) fn take(&mut self, identity: &Json<'_>) -> Option<Kept<'a>> {
        self.0.get_mut(&normal(&identity.to_text()))?.pop_front()
    }
}

/// What items keep, written as pairs. An item that keeps nothing is in it only where another one looks like it.
pub(super) fn write_items<'a>(items: Vec<(Json<'a>, Kept<'a>)>) -> Option<Json<'a>> {
    let needed: HashSet<String> = items
        .iter()
        .filter(|(_, kept)| !kept.is_empty())
        .map(|(identity, _)| normal(&identity.to_text()))
        .collect();
    if needed.is_empty() {
        return None;
    }
    let pairs = items.into_iter().filter(|(identity, kept)| {
        !kept.is_empty() || needed.contains(&normal(&identity.to_text()))
    });
    Some(Json::Array(
        pairs.map(|(identity, kept)| Json::Array(vec![identity, kept.into_json()])).collect(),
    ))
}

/// Whether two fragments are the same values, absence included.
pub(super) fn same(one: &Fragment<'_>, two: &Fragment<'_>) -> bool {
    one.len() == two.len()
        && one.iter().zip(two).all(|pair| match pair {
            (None, None) => true,
            (Some(one), Some(two)) => one.same(two),
            _ => false,
        })
}

/// Whether two fragments are the same values in the same spelling: what was written as `1.0` comes back as that.
pub(super) fn identical(one: &Fragment<'_>, two: &Fragment<'_>) -> bool {
    let spelled = |value: &Json<'_>| spelled(&value.to_text());
    same(one, two) && one.iter().flatten().map(spelled).eq(two.iter().flatten().map(spelled))
}

/// One value as it is; several as lists of none or one. Nothing at all is left out.
fn write<'a>(fragment: &Fragment<'a>) -> Option<Json<'a>> {
    match fragment.as_slice() {
        [one] => one.clone(),
        several if several.iter().all(Option::is_none) => None,
        several => Some(Json::Array(
            several.iter().map(|value| Json::Array(value.iter().cloned().collect())).collect(),
        )),
    }
}

fn read<'a>(written: Option<Json<'_>>, places: usize) -> Option<Fragment<'a>> {
    match (written, places) {
        (None, places) => Some(vec![None; places]),
        (Some(_), 0) => None,
        (Some(value), 1) => Some(vec![Some(value.into_owned())]),
        (Some(mut value), places) => {
            let elements = value.open_array()?;
            let values = std::mem::take(elements).into_iter().map(|mut element| {
                let inner = element.open_array()?;
                (inner.len() < 2).then(|| inner.pop().map(Json::into_owned))
            });
            values.collect::<Option<Vec<_>>>().filter(|values| values.len() == places)
        }
    }
}
