//! How likely a field of the older version is a field of the newer version.

use std::collections::BTreeSet;

use serde_json::Value;

use super::conversion::{Conversion, conversion};
use super::pool::{Candidate, Weights};
use super::shape::{has_fields, is_schemaless};
use super::words::{similarity, words};
use crate::definition::{Path, Schema, Sides};

/// Pairs from this score on are operations of the draft.
pub(super) const LIKELY: f64 = 0.62;
/// Pairs below this score are operations with a question.
pub(super) const SURE: f64 = 0.72;
/// Pairs from this score on are questions.
pub(super) const POSSIBLE: f64 = 0.52;
/// A second pair with nearly the same score makes the first one doubtful.
pub(super) const NEARLY: f64 = 0.05;

/// Two fields that may be one.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) paths: Sides<Path>,
    pub(super) conversion: Conversion,
    pub(super) score: f64,
}

/// Compares two candidates. `mapped` is the older path with the parents as the newer version names them.
pub(super) fn pair(
    older: &Candidate<'_>,
    newer: &Candidate<'_>,
    mapped: &Path,
    weights: &Weights,
    names: &Sides<&str>,
) -> Option<Pair> {
    let conversion = conversion(older.schema, newer.schema, names)?;
    let is_whole = !(older.is_divided || newer.is_divided);
    if !is_whole && conversion != Conversion::Fields {
        return None;
    }
    let shape = likeness_of_values(older, newer, &conversion);
    let leaf = similarity(older.name(), newer.name());
    // For an object, contents count more than the name. A value without a schema has no contents to compare.
    let is_unknown = is_schemaless(older.schema) || is_schemaless(newer.schema);
    if has_fields(older.schema) && shape < 0.3 && leaf < 0.6 || is_unknown && leaf < 0.8 {
        return None;
    }
    let evidence = if is_same_enum(older.schema, newer.schema) { 0.7 } else { 0.0 };
    let name = likeness(older, newer, mapped, weights).max(evidence);
    let score = 0.6 * name + 0.25 * shape + 0.15 * nearness(mapped, &newer.path);
    // Objects come before their fields.
    let size = if shape > 0.6 { (older.shape.size().min(20) as f64) / 400.0 } else { 0.0 };
    let paths = Sides { older: older.path.clone(), newer: newer.path.clone() };
    Some(Pair { paths, conversion, score: score + size })
}

/// The likeness of the names, and of the paths to them.
fn likeness(older: &Candidate<'_>, newer: &Candidate<'_>, mapped: &Path, weights: &Weights) -> f64 {
    let common = mapped.common(&newer.path).min(mapped.len().saturating_sub(1)).min(newer.path.len() - 1);
    let tail = |path: &Path| -> BTreeSet<String> {
        path.names().iter().skip(common).flat_map(|name| words(name)).filter(|word| !UNITS.contains(&&**word)).collect()
    };
    let overlap = weights.overlap(&tail(mapped), &tail(&newer.path));
    let leaf = similarity(older.name(), newer.name());
    let rarity = weights.rarity(older.name()).min(weights.rarity(newer.name()));
    let by_name = leaf * (0.55 + 0.45 * rarity.max(overlap));
    // An equal name counts more than the same words in the path.
    by_name.max(0.9 * overlap)
}

/// Returns whether two fields have the same enum. Fields with the same values often have the same meaning.
fn is_same_enum(older: &Schema, newer: &Schema) -> bool {
    let (Some(one), Some(two)) = (&older.options, &newer.options) else { return false };
    one.len() > 1 && one.len() == two.len() && one.iter().all(|value| two.contains(value))
}

/// Words that only name the unit of a number.
const UNITS: [&str; 3] = ["second", "minute", "millisecond"];

/// The likeness of types, enums and contents.
fn likeness_of_values(older: &Candidate<'_>, newer: &Candidate<'_>, conversion: &Conversion) -> f64 {
    match conversion {
        Conversion::Measure(_) | Conversion::Values(_) => 1.0,
        Conversion::Type => 0.3,
        Conversion::ItemMap(_) => 0.8,
        Conversion::Wrap => 0.7,
        Conversion::Copy if older.schema.is_scalar() => of_scalars(older.schema, newer.schema),
        _ => older.shape.similarity(&newer.shape),
    }
}

fn of_scalars(older: &Schema, newer: &Schema) -> f64 {
    let kind = if older.kind == newer.kind { 1.0 } else { 0.6 };
    let is_open = |schema: &Schema| schema.options.is_none();
    match (&older.options, &newer.options) {
        (Some(one), Some(two)) => {
            let common = one.iter().filter(|value: &&Value| two.contains(value)).count() as f64;
            kind * (0.2 + 0.8 * common / one.len().max(1) as f64)
        }
        _ if is_open(older) != is_open(newer) => 0.8 * kind,
        _ => kind,
    }
}

/// How near two places are: the share of their parents that both have.
fn nearness(mapped: &Path, newer: &Path) -> f64 {
    let (one, two) = (mapped.len().saturating_sub(1), newer.len().saturating_sub(1));
    let common = mapped.common(newer).min(one).min(two);
    match one.max(two) {
        0 => 1.0,
        depth => common as f64 / depth as f64,
    }
}
