//! An item of a list, known by one of its fields.

use super::field_place::inside;
use crate::definition::path::Path;
use crate::json::{Json, Members};

/// Sees to it that a list has an item with these members. What else the item has stays: the API server fills in
/// defaults. A member that is to be null goes. An item that is not there is added at the end, and so is a list.
pub(super) fn set_item<'j>(holder: &mut Json<'j>, list: &Path, key: &str, item: &Json<'static>) -> Option<()> {
    let known = item.get(key)?;
    let (names, last) = split(list)?;
    let members = inside(holder, names)?.open().ok()??;
    if members.get(last).is_none_or(Json::is_null) {
        members.set(last, Json::Array(vec![added(item)]));
        return Some(());
    }
    let all = members.get_mut(last)?.open_array()?;
    let mut found = false;
    // Of two with one key the later one mostly counts.
    for other in all.iter_mut().filter(|other| other.get(key).is_some_and(|found| found.same(&known))) {
        found = true;
        merge(other, item);
    }
    if !found {
        all.push(added(item));
    }
    Some(())
}

/// Sees to it that a list has no item of this name. A list of which nothing is left goes.
pub(super) fn unset_item(holder: &mut Json<'_>, list: &Path, key: &str, value: &Json<'static>) -> Option<()> {
    let (names, last) = split(list)?;
    let members = inside(holder, names)?.open().ok()??;
    let is_it = |item: &Json<'_>| item.get(key).is_some_and(|found| found.same(value));
    // Nothing is opened where there is nothing to do.
    if !members.get(last)?.elements().iter().any(is_it) {
        return None;
    }
    let all = members.get_mut(last)?.open_array()?;
    all.retain(|item| !is_it(item));
    if all.is_empty() {
        members.remove(last);
    }
    Some(())
}

fn split(list: &Path) -> Option<(&[Box<str>], &str)> {
    list.names().split_last().map(|(last, names)| (names, &**last))
}

/// An item as it is added: what it must not have it has not.
fn added(item: &Json<'static>) -> Json<'static> {
    let mut new = Json::Object(Members::default());
    merge(&mut new, item);
    new
}

/// Puts the members of one object into another, and those of objects in them. One that is to be null goes. Any other
/// value is replaced, where it is another one.
fn merge<'j>(into: &mut Json<'j>, item: &Json<'static>) {
    if into.same(item) {
        return;
    }
    let (Ok(Some(members)), true) = (into.open(), item.is_object()) else {
        *into = if item.is_object() { added(item) } else { item.clone() };
        return;
    };
    for (name, value) in item.members() {
        let value = value.into_owned();
        merge_member(members, &name, value);
    }
}

fn merge_member(members: &mut Members<'_>, name: &str, value: Json<'static>) {
    if value.is_null() {
        members.remove(name);
        return;
    }
    match members.get_mut(name) {
        Some(there) if there.is_object() && value.is_object() => merge(there, &value),
        Some(there) if there.same(&value) => {}
        _ => members.set(name, if value.is_object() { added(&value) } else { value }),
    }
}
