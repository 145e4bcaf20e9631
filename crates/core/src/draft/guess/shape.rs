//! The shape of a value: its type, and the names and types of the fields inside.

use std::collections::BTreeMap;

use super::words::words;
use crate::definition::Schema;

/// Returns whether one operation converts the whole value. Requirements, bounds, enums and rules may differ, because
/// each such difference can be accepted.
pub(super) fn is_same(older: &Schema, newer: &Schema) -> bool {
    let alike = older.kind == newer.kind
        && older.nullable == newer.nullable
        && older.preserve == newer.preserve
        && older.default == newer.default;
    let items = match (&older.each, &newer.each) {
        (Some(one), Some(two)) => is_same(one, two),
        (None, None) => true,
        _ => false,
    };
    let field = |(name, one): (&String, &Schema)| newer.properties.get(name).is_some_and(|two| is_same(one, two));
    alike && items && older.properties.len() == newer.properties.len() && older.properties.iter().all(field)
}

/// Returns whether a value has named fields.
pub(super) fn has_fields(schema: &Schema) -> bool {
    schema.is("object") && schema.each.is_none() && !schema.properties.is_empty()
}

/// Returns whether the schema of an object or of any value has no fields and no items.
pub(super) fn is_schemaless(schema: &Schema) -> bool {
    !schema.is_scalar() && schema.each.is_none() && schema.properties.is_empty()
}

/// The only field of an object, if it is a scalar.
pub(super) fn only_scalar(schema: &Schema) -> Option<(&String, &Schema)> {
    let mut fields = schema.properties.iter().filter(|_| has_fields(schema));
    fields.next().filter(|(_, field)| field.is_scalar() && fields.next().is_none())
}

/// The leaves inside a value, by words and type, with their counts.
#[derive(Debug)]
pub(super) struct Shape(BTreeMap<String, usize>);

impl Shape {
    pub(super) fn of(schema: &Schema) -> Self {
        let mut leaves = BTreeMap::new();
        collect("", schema, &mut leaves);
        Self(leaves)
    }

    /// The number of leaves.
    pub(super) fn size(&self) -> usize {
        self.0.values().sum()
    }

    /// The share of common leaves, from 0 to 1.
    pub(super) fn similarity(&self, other: &Self) -> f64 {
        let common: usize =
            self.0.iter().map(|(leaf, count)| other.0.get(leaf).map_or(0, |other| *count.min(other))).sum();
        2.0 * common as f64 / (self.size() + other.size()).max(1) as f64
    }
}

fn collect(leaf: &str, schema: &Schema, leaves: &mut BTreeMap<String, usize>) {
    let kind = schema.kind.as_deref().unwrap_or("any");
    match &schema.each {
        Some(each) => collect(&format!("{leaf}[]"), each, leaves),
        None if schema.properties.is_empty() => *leaves.entry(format!("{leaf}:{kind}")).or_default() += 1,
        None => {
            // One name is enough, because a field may be deeper or shallower in the other version.
            for (name, property) in &schema.properties {
                collect(&words(name).concat(), property, leaves);
            }
        }
    }
}
