//! `each`: operations on each item of a list, or each value of a map.

use schemars::JsonSchema;
use serde::Deserialize;

use super::compiler::{Compile, Compiler};
use super::each_item::{each, key_names};
use super::implications::filled;
use super::implied_lists::lists_to_fill;
use super::mapping::{Items, Level, Operation};
use super::schemaless::with_schemaless_fields;
use crate::definition::frontier::Root;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::definition::yaml::Spanned;

/// Operations on the contents of a list or map. Their paths start at the item. `.` is the item itself.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Each")]
pub(crate) struct EachSpec<O> {
    /// The list or map, at the same place in both versions.
    #[serde(rename = "in")]
    within: Option<String>,
    /// The list or map in the older version, if the paths differ.
    from: Option<String>,
    /// The list or map in the newer version, if the paths differ.
    to: Option<String>,
    /// The field of the older version that identifies the items of a list. Defaults to the `x-kubernetes-list-map-keys`
    /// of the schema, else to a required `name` that is no object or list. Without a key, the whole content identifies
    /// an item.
    key: Option<String>,
    /// The changes inside of each item.
    operations: Vec<Spanned<O>>,
}

impl<O: Compile> EachSpec<O> {
    /// Compiles the operation. `more` are later entries for the same list.
    pub(super) fn compile<'s>(
        &'s self,
        more: impl Iterator<Item = &'s Self>,
        compiler: &mut Compiler<'_>,
    ) -> Option<Operation> {
        let all: Vec<&Self> = std::iter::once(self).chain(more).collect();
        let places = compiler.one_or_two("each", ("in", &self.within), &self.from, &self.to)?;
        let (path, older, newer) = (&places.older.path, &places.older.schema, &places.newer.schema);
        let (Some(older_item), Some(newer_item)) = (&older.each, &newer.each) else {
            compiler.problem(format!("each: {path} is no list and no map in both versions"));
            return None;
        };
        if older.kind != newer.kind {
            compiler.problem(format!("each: {path} is a list in one version and a map in the other"));
        }
        let mut inside = compiler.inside(older_item, newer_item);
        let specs: Vec<&Spanned<O>> = all.iter().flat_map(|each| &each.operations).collect();
        let mut operations = inside.operations(&specs, &[]);
        let items = Sides { older: &**older_item, newer: &**newer_item };
        let completed = with_schemaless_fields(&items, &mut operations);
        let Sides { older: older_item, newer: newer_item } = completed.as_ref().map_or(items, Sides::as_ref);
        operations.extend(lists_to_fill(older_item, newer_item, &operations, &[]));
        operations.extend(filled(older_item, newer_item, &operations));
        let is_set = [older, newer].iter().any(|schema| schema.list_type.as_deref() == Some("set"));
        if let Some(operation) = operations.iter().find(|operation| is_set && !operation.is_injective()) {
            let name = operation.name;
            inside.problem(format!(
                "each: {path} is a set, and `{name}` may merge two items into one, which the API server \
                     refuses: use an atomic list (`x-kubernetes-list-type: atomic`) in both versions, or `drop` and \
                     `add`"
            ));
        }
        let key = all.iter().find_map(|each| each.key.as_ref());
        if all.iter().any(|each| each.key.is_some() && each.key.as_ref() != key) {
            inside.problem(format!("each: {path} has two keys"));
        }
        let keys = keys(key, &mut inside, older, &operations)?;
        let level = Level::new(older_item, newer_item, operations, Root::Item);
        Some(each(places, Items { level, keys }))
    }

    /// Operations on the items of a list at the same path in both versions.
    pub(super) fn around(list: &Path, operation: Spanned<O>) -> Self {
        Self { within: Some(list.to_string()), from: None, to: None, key: None, operations: vec![operation] }
    }

    /// The path, if both versions have the same path.
    pub(super) fn path(&self) -> Option<&str> {
        self.within.as_deref()
    }

    /// The same operations on another list.
    pub(super) fn at(&self, path: String) -> Self
    where
        O: Clone,
    {
        Self { within: Some(path), ..self.clone() }
    }

    /// Returns whether both entries concern the items of one list.
    pub(super) fn is_on(&self, other: &Self) -> bool {
        (&self.within, &self.from, &self.to) == (&other.within, &other.from, &other.to)
    }
}

/// The key fields of the items of a list, on both sides. `None` for a map, which has its own keys.
fn keys(
    written: Option<&String>,
    inside: &mut Compiler<'_>,
    list: &Schema,
    operations: &[Operation],
) -> Option<Sides<Vec<Place>>> {
    let mut keys = Sides::<Vec<Place>>::default();
    if !list.is("array") && (written.is_none() || !list.is_schemaless()) {
        return Some(keys);
    }
    let names = match written {
        Some(key) => vec![key.clone()],
        None => key_names(list, Sides { older: inside.older, newer: inside.newer }),
    };
    for name in names {
        let older = inside.place(Side::Older, &name)?;
        let touching = operations.iter().find(|operation| operation.touches(Side::Older, &older.path));
        let newer = match touching {
            None => older.path.clone(),
            Some(Operation { places, .. })
                if touching.is_some_and(Operation::is_same) && older.path.starts_with(&places.older.first()?.path) =>
            {
                older.path.moved(&places.older.first()?.path, &places.newer.first()?.path)
            }
            Some(Operation { name: operation, .. }) => {
                inside.problem(format!("each: {name} identifies the items, so {operation} cannot change this field"));
                return None;
            }
        };
        keys.older.push(older);
        let schema = inside.newer.at(&newer).cloned().unwrap_or_default();
        keys.newer.push(Place::new(newer, schema));
    }
    Some(keys)
}
