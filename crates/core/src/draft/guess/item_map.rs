//! A map in one version is a list in the other version. A field of each item has the key of the map.

use super::shape::has_fields;
use crate::definition::{Schema, is_name};

/// A map in one version and a list in the other one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ItemMap {
    /// The older version has the map.
    is_map_older: bool,
    /// The field of an item with the key of the map.
    key: String,
    content: Content,
}

/// Where an item stores the value of an entry.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    /// A field of the item has the whole value.
    Field(String),
    /// The item has the fields of the value.
    Fields(Vec<String>),
}

impl ItemMap {
    /// Compares a map with a list. `None` if the items do not contain the key and the value. They may have more fields.
    pub(super) fn find(older: &Schema, newer: &Schema) -> Option<Self> {
        let is_map_older = newer.is("array");
        let (map, list) = if is_map_older { (older, newer) } else { (newer, older) };
        if !map.is("object") || !list.is("array") {
            return None;
        }
        let (value, item) = (map.each.as_deref()?, list.each.as_deref()?);
        let is_text = |name: &&str| item.properties.get(*name).is_some_and(|field| field.is("string"));
        let key = match list.list_keys.as_slice() {
            [key] => Some(key.as_str()),
            _ => ["name", "key"].into_iter().find(is_text),
        };
        let key = key.filter(is_text)?.to_owned();
        let others = || item.properties.iter().filter(|(name, _)| **name != key);
        let content = if value.is_scalar() {
            let mut others = others();
            let (name, field) = others.next()?;
            (others.next().is_none() && field.kind == value.kind).then(|| Content::Field(name.clone()))?
        } else if has_fields(value) && !value.properties.contains_key(&key) {
            let fits = |(name, field): (&String, &Schema)| {
                others().any(|(other, schema)| other == name && schema.kind == field.kind)
            };
            value.properties.iter().all(fits).then(|| Content::Fields(value.properties.keys().cloned().collect()))?
        } else {
            return None;
        };
        let found = Self { is_map_older, key, content };
        let is_valid = found.names().all(|name| is_name(name));
        is_valid.then_some(found)
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let fields = match &self.content {
            Content::Field(name) => std::slice::from_ref(name),
            Content::Fields(names) => names,
        };
        fields.iter().chain([&self.key])
    }

    /// The expressions `up` and `down`, in this order.
    pub(super) fn expressions(&self) -> [String; 2] {
        let key = &self.key;
        let copy = |from: &str| {
            let Content::Fields(names) = &self.content else { return String::new() };
            let field = |name: &String| format!("\"{name}\": has({from}.{name}) ? {from}.{name} : null");
            names.iter().map(field).collect::<Vec<_>>().join(", ")
        };
        let (to_list, to_map) = match &self.content {
            Content::Field(name) => (
                format!("value.map(k, {{\"{key}\": k, \"{name}\": value[k]}})"),
                format!("value.transformMapEntry(i, e, {{e.{key}: e.{name}}})"),
            ),
            Content::Fields(_) => (
                format!("value.map(k, {{\"{key}\": k, {}}})", copy("value[k]")),
                format!("value.transformMapEntry(i, e, {{e.{key}: {{{}}}}})", copy("e")),
            ),
        };
        if self.is_map_older { [to_list, to_map] } else { [to_map, to_list] }
    }
}
