//! A list item, identified by one of its fields.

use super::field_place::inside;
use crate::definition::path::Path;
use crate::json::{Json, Members};

/// Ensures that a list has an item with these members. Other members of the item stay, because the API server fills in
/// defaults. A null member is removed. An absent item or list is added at the end.
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
    // With duplicate keys, the last item usually takes effect.
    for other in all.iter_mut().filter(|other| other.get(key).is_some_and(|found| found.same(&known))) {
        found = true;
        merge(other, item);
    }
    if !found {
        all.push(added(item));
    }
    Some(())
}

/// Ensures that a list has no item with this key. Removes the list if no item is left.
pub(super) fn unset_item(holder: &mut Json<'_>, list: &Path, key: &str, value: &Json<'static>) -> Option<()> {
    let (names, last) = split(list)?;
    let members = inside(holder, names)?.open().ok()??;
    let is_it = |item: &Json<'_>| item.get(key).is_some_and(|found| found.same(value));
    // Parses the list only if there is an item to remove.
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

/// The item as it is added, without its null members.
fn added(item: &Json<'static>) -> Json<'static> {
    let mut new = Json::Object(Members::default());
    merge(&mut new, item);
    new
}

/// Merges the members of one object into another, recursively. A null member is removed. Any other value is replaced if
/// it differs.
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
