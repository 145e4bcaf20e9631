//! Fields and list items, as patch expressions.

use serde_json::Value;

use super::cel_place::{CelPlace, add, bind, constant, joined, only_if, remove};
use crate::definition::Path;
use crate::registration::guards::cel::literal;

/// Sets a field. Creates parents that are absent or null, and leaves other parents unchanged.
pub(super) fn set(root: &CelPlace, path: &Path, value: &Value) -> String {
    put(root, path.names(), value, IfThere::Replaced)
}

/// Creates an object and its parents, unless another value is present.
pub(super) fn make(root: &CelPlace, path: &Path) -> String {
    put(root, path.names(), &Value::Object(serde_json::Map::new()), IfThere::Stays)
}

/// The handling of an existing field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum IfThere {
    Replaced,
    Stays,
}

fn put(here: &CelPlace, names: &[Box<str>], value: &Value, if_there: IfThere) -> String {
    let Some((name, rest)) = names.split_first() else { return "[]".to_owned() };
    let member = here.member(name);
    if rest.is_empty() && if_there == IfThere::Replaced {
        return format!("[{}]", add(&member.pointer(), &constant(value)));
    }
    let made = rest
        .iter()
        .rev()
        .fold(value.clone(), |value, name| Value::Object([(name.to_string(), value)].into_iter().collect()));
    let is_nothing = format!("!({}) || {} == null", here.has(name), member.value);
    let below = only_if(&[format!("type({}) == map", member.value)], &put(&member, rest, value, if_there));
    format!("({is_nothing} ? [{}] : {below})", add(&member.pointer(), &constant(&made)))
}

/// Removes a field.
pub(super) fn unset(root: &CelPlace, path: &Path) -> String {
    let Some((last, names)) = path.names().split_last() else { return "[]".to_owned() };
    let (mut wanted, holder) = root.inside(names);
    wanted.push(holder.has(last));
    only_if(&wanted, &format!("[{}]", remove(&holder.member(last).pointer())))
}

/// Ensures that a list has an item with these members, identified by one of them.
pub(super) fn set_item(root: &CelPlace, path: &Path, key: &str, item: &Value) -> String {
    let Some((last, names)) = path.names().split_last() else { return "[]".to_owned() };
    let (wanted, holder) = root.inside(names);
    let list = holder.member(last);
    let known = item.get(key).cloned().unwrap_or_default();
    let is_it = is_known("it", key, &known);
    let new = constant(&without_null(item));
    let appended = format!("[{}]", add(&list.end_pointer(), &new));
    let merged = match merges(&list.element("it", "i"), item, Some(key)) {
        all if all.is_empty() => "[]".to_owned(),
        all => {
            let one = |(wanted, operation): (Vec<String>, String)| {
                let wanted: Vec<String> = [is_it.clone()].into_iter().chain(wanted).collect();
                format!("items.transformList(i, it, {}, {operation})", wanted.join(" && "))
            };
            joined(&all.into_iter().map(one).collect::<Vec<_>>())
        }
    };
    let there = format!("(items.exists(it, {is_it}) ? {merged} : {appended})");
    let there = only_if(&[format!("type({}) == list", list.value)], &bind("items", &list.value, &there));
    let is_nothing = format!("!({}) || {} == null", holder.has(last), list.value);
    let made = format!("[{}]", add(&list.pointer(), &format!("[{new}]")));
    only_if(&wanted, &format!("({is_nothing} ? {made} : {there})"))
}

/// Ensures that a list has no item with this key.
pub(super) fn unset_item(root: &CelPlace, path: &Path, key: &str, value: &Value) -> String {
    let Some((last, names)) = path.names().split_last() else { return "[]".to_owned() };
    let (mut wanted, holder) = root.inside(names);
    wanted.push(holder.has_a(last, "list"));
    let list = holder.member(last);
    let removed = format!("{}.transformList(i, it, {}, i)", list.value, is_known("it", key, value));
    // In reverse order, so that the indices stay valid.
    let each = format!("gone.reverse().map(i, {})", remove(&list.element("it", "i").pointer()));
    let all = format!("gone.size() > 0 && gone.size() == {}.size()", list.value);
    let patch = format!("({all} ? [{}] : {each})", remove(&list.pointer()));
    only_if(&wanted, &bind("gone", &removed, &patch))
}

/// An expression for whether a list element has this key.
fn is_known(element: &str, key: &str, value: &Value) -> String {
    let key = literal(key);
    format!("type({element}) == map && {key} in {element} && {element}[{key}] == {}", constant(value))
}

/// The operations that merge the members of an object into a place, each with its conditions.
fn merges(here: &CelPlace, item: &Value, known_by: Option<&str>) -> Vec<(Vec<String>, String)> {
    let mut all = Vec::new();
    for (name, value) in item.as_object().into_iter().flatten() {
        if Some(name.as_str()) == known_by {
            continue;
        }
        let member = here.member(name);
        match value {
            Value::Null => all.push((vec![here.has(name)], remove(&member.pointer()))),
            Value::Object(_) => {
                let is_object = here.has_a(name, "map");
                let new = add(&member.pointer(), &constant(&without_null(value)));
                all.push((vec![format!("!({is_object})")], new));
                let below = merges(&member, value, None).into_iter();
                all.extend(
                    below.map(|(wanted, operation)| {
                        ([is_object.clone()].into_iter().chain(wanted).collect(), operation)
                    }),
                );
            }
            _ => all.push((Vec::new(), add(&member.pointer(), &constant(value)))),
        }
    }
    all
}

/// An item as it is added, without its null members.
fn without_null(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_null(value))).collect())
        }
        other => other.clone(),
    }
}
