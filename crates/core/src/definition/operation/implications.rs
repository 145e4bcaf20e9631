//! Implied operations: they result from the written operations and from the two schemas.
//!
//! For example, the older version has a default for `mode`, and the newer version has `mode` without a default. The API
//! server shows the default to clients of the older version, and their writes would bring it into the stored object. An
//! implied operation marks the value as filled in, so that the conversion back removes it. The same applies to a null
//! that only one version allows.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::mapping::Operation;
use super::nulls::nulls;
use super::same::Same;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::{Schema, properties};
use crate::definition::side::Sides;

/// Finds fields that both versions have, that no operation names, and whose default or null handling differs. In an
/// object that operations may create, this includes every field with a default. In an object with its own default, it
/// includes every field of that default.
pub(in crate::definition) fn filled(older: &Schema, newer: &Schema, operations: &[Operation]) -> Vec<Operation> {
    let mut named = NamedFields::default();
    operations.iter().flat_map(Operation::all_places).for_each(|place| named.add(place.path.names()));
    if operations.iter().any(is_about_spec_and_more)
        && let Some(spec) = named.inside.get_mut("spec")
    {
        spec.is_made = true;
    }
    let mut found = Vec::new();
    differing(Sides { older, newer }, &Path::default(), &named, &defaults(older, newer), &mut found);
    let operation = |places: Sides<Place>| match places.older.schema.nullable == places.newer.schema.nullable {
        true => Operation::between("required", places, Same),
        false => nulls(places),
    };
    found.into_iter().map(operation).collect()
}

fn defaults<'s>(older: &'s Schema, newer: &'s Schema) -> Vec<&'s Value> {
    [older, newer].into_iter().filter_map(|schema| schema.default.as_ref()).collect()
}

/// The fields that operations name, as a tree of names.
#[derive(Default)]
struct NamedFields<'p> {
    here: bool,
    /// An operation may create the object if it is absent. Used for `spec`.
    is_made: bool,
    inside: HashMap<&'p str, Self>,
}

impl<'p> NamedFields<'p> {
    fn add(&mut self, names: &'p [Box<str>]) {
        match names.split_first() {
            None => self.here = true,
            Some((name, rest)) => self.inside.entry(name).or_default().add(rest),
        }
    }
}

/// Returns whether an operation moves a value into or out of `spec`.
fn is_about_spec_and_more(operation: &Operation) -> bool {
    let is_in_spec = |place: &Place| matches!(place.path.names(), [top, _, ..] if **top == *"spec");
    let (inside, outside) = (operation.all_places().any(is_in_spec), !operation.all_places().all(is_in_spec));
    inside && outside
}

/// `named` are the fields in the object at `path` that operations name, `defaults` are the defaults that may apply
/// there.
fn differing(
    Sides { older, newer }: Sides<&Schema>,
    path: &Path,
    named: &NamedFields<'_>,
    defaults: &[&Value],
    found: &mut Vec<Sides<Place>>,
) {
    let nothing = NamedFields::default();
    // Operations may create these objects for values that move into them.
    let spec = matches!(path.names(), [name] if **name == *"spec");
    let made = !path.is_empty() && (!spec || named.is_made) && !named.inside.is_empty();
    let places = |name: &str, one: &Schema, two: &Schema| {
        let place = |holder: &Schema, schema: &Schema| Place {
            required: holder.required.contains(name),
            ..Place::new(path.join(name), schema.clone())
        };
        Sides { older: place(older, one), newer: place(newer, two) }
    };
    let before = found.len();
    let mut by_default = Vec::new();
    let anything = Schema::default();
    for (name, one, two) in members(Sides { older, newer }, defaults, &anything) {
        let inner = named.inside.get(name).unwrap_or(&nothing);
        if inner.here {
            continue;
        }
        let inner_defaults: Vec<&Value> = defaults.iter().filter_map(|default| default.get(name)).collect();
        let is_named = !inner_defaults.is_empty();
        let fill = |schema: &Schema| schema.default_value().map(|fill| fill.to_text());
        let (one_fill, two_fill) = (fill(one), fill(two));
        if inner.inside.is_empty() && one.nullable != two.nullable {
            found.push(places(name, one, two));
            continue;
        }
        let before = found.len();
        let inner_defaults = [inner_defaults, self::defaults(one, two)].concat();
        differing(Sides { older: one, newer: two }, &path.join(name), inner, &inner_defaults, found);
        match inner.inside.is_empty() && found.len() == before {
            true if one_fill != two_fill || (made && one_fill.is_some()) => found.push(places(name, one, two)),
            true if is_named => by_default.push((name, one, two)),
            _ => {}
        }
    }
    // If an operation concerns a field of the object, its whole default must be covered by operations.
    if !named.inside.is_empty() || found.len() > before {
        found.extend(by_default.into_iter().map(|(name, one, two)| places(name, one, two)));
    }
}

/// The members that both versions have in an object: its properties, and the members of its defaults.
fn members<'s>(
    Sides { older, newer }: Sides<&'s Schema>,
    defaults: &[&'s Value],
    anything: &'s Schema,
) -> Vec<(&'s str, &'s Schema, &'s Schema)> {
    let both = properties(older, newer).filter_map(|(name, one, two)| Some((name, one?, two?)));
    let others = defaults.iter().filter_map(|default| default.as_object()).flat_map(Map::keys).collect::<BTreeSet<_>>();
    let member = |schema: &'s Schema, name| schema.member(name).or_else(|| schema.preserve.then_some(anything));
    let is_other = |name: &&String| !older.properties.contains_key(*name) || !newer.properties.contains_key(*name);
    let others = others.into_iter().filter(is_other);
    let others = others.filter_map(|name| Some((name.as_str(), member(older, name)?, member(newer, name)?)));
    both.chain(others).collect()
}
