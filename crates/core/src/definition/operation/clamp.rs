//! `clamp`: a number of the older version outside of the newer range maps to the nearest bound.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use smallvec::smallvec;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// The range of a number in the newer version.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Clamp")]
pub(crate) struct ClampSpec {
    /// The field, at the same place in both versions.
    field: Option<String>,
    /// The field in the older version, if the paths differ.
    from: Option<String>,
    /// The field in the newer version, if the paths differ.
    to: Option<String>,
    /// The lower bound in the newer version. Smaller older numbers map to this bound.
    min: Option<Value>,
    /// The upper bound in the newer version. Larger older numbers map to this bound.
    max: Option<Value>,
    /// Numbers of the older version that mean "no value", and are absent in the newer version.
    #[serde(default)]
    unset: Vec<Value>,
    /// The older number for a newer number in `unset`, which must map back to the newer number.
    older: Option<Value>,
}

impl ClampSpec {
    /// The path, if both versions have the same path.
    pub(super) fn path(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// The same operation on another field.
    pub(super) fn at(&self, path: String) -> Self {
        Self { field: Some(path), ..self.clone() }
    }

    /// Compiles the operation.
    pub(super) fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let places = compiler.one_or_two("clamp", ("field", &self.field), &self.from, &self.to)?;
        if self.min.is_none() && self.max.is_none() {
            compiler.problem("clamp: needs `min`, `max` or both");
        }
        for place in [&places.older, &places.newer] {
            if !matches!(place.schema.kind.as_deref(), Some("integer" | "number")) {
                compiler.problem(format!("clamp: {} must be a number", place.path));
            }
        }
        let number = |value: &Value| Json::owned(value.to_string());
        for value in self.min.iter().chain(&self.max) {
            compiler.takes("clamp", &places.newer, &number(value));
        }
        for value in &self.unset {
            compiler.takes("clamp", &places.older, &number(value));
        }
        let [min, max] = [&self.min, &self.max].map(|bound| bound.as_ref().map(number));
        if let (Some(min), Some(max)) = (&min, &max)
            && order(min, max) == Some(Ordering::Greater)
        {
            compiler.problem(format!("clamp: min {} is more than max {}", min.to_text(), max.to_text()));
        }
        let unset: Vec<_> = self.unset.iter().map(number).collect();
        let instead = self.older.as_ref().map(number);
        if let Some(instead) = &instead {
            compiler.takes("clamp", &places.older, instead);
        }
        let clamp = Clamp { min, max, unset, instead };
        clamp.check(&places.newer, compiler);
        Some(Operation::between("clamp", places, clamp))
    }
}

/// Clamps the older number, or removes it if it is listed in `unset`.
#[derive(Debug)]
struct Clamp {
    min: Option<Json<'static>>,
    max: Option<Json<'static>>,
    unset: Vec<Json<'static>>,
    /// The older number for a newer number that is listed in `unset`.
    instead: Option<Json<'static>>,
}

impl Mapping for Clamp {
    fn map<'a>(&self, to: Side, _: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let value = from.first().cloned().flatten();
        smallvec![match to {
            Side::Newer => value.and_then(|value| self.clamped(value)),
            Side::Older => value.map(|value| self.lowered(value)),
        }]
    }

    /// The older version alone may allow values outside of the bounds and unset values.
    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        let (older, newer) = (&older.schema, &newer.schema);
        let mut bounds = older.bounds.clone();
        for (key, own, wanted) in [("minimum", &self.min, Ordering::Less), ("maximum", &self.max, Ordering::Greater)] {
            let bound = newer.bounds.get(key);
            let is_met = |own: &Json<'static>, bound: &Value| {
                order(own, &Json::owned(bound.to_string())).is_some_and(|order| order != wanted)
            };
            // Values that the older version does not allow need no clamping.
            let is_wider = |older: &Value| {
                let [older, newer] =
                    [Some(older), bound].map(|bound| bound.map(|bound| Json::owned(bound.to_string())));
                older.zip(newer).is_some_and(|(older, newer)| order(&older, &newer) == Some(wanted))
            };
            if let (Some(own), Some(bound)) = (own, bound)
                && is_met(own, bound)
                && older.bounds.get(key).is_none_or(is_wider)
            {
                bounds.insert(key.to_owned(), bound.clone());
            }
        }
        let default = older.default.as_ref().and_then(|default| {
            let clamped = self.clamped(Json::owned(default.to_string()))?;
            serde_json::from_str(&clamped.to_text()).ok()
        });
        Unexplained::schemas(Schema { bounds, default, ..older.clone() }, newer.clone())
    }

    fn may_lack(&self, to: Side, _: usize, _: &Sides<Vec<Place>>) -> Option<String> {
        (to == Side::Newer && !self.unset.is_empty())
            .then(|| "the field is absent in the newer version for a value that means \"unset\"".to_owned())
    }

    fn adds(&self, _: Side) -> u64 {
        let numbers = [&self.min, &self.max, &self.instead].into_iter().flatten();
        numbers.map(|number| number.size() as u64).max().unwrap_or_default()
    }
}

impl Clamp {
    /// Checks that no newer number with a meaning maps to an unset number of the older version.
    fn check(&self, newer: &Place, compiler: &mut Compiler<'_>) {
        let mut reachable_unset = self.unset.iter().filter(|unset| newer.schema.admits(unset));
        let returns = |unset: &Json<'static>| {
            let again = self.instead.clone().and_then(|instead| self.clamped(instead));
            again.is_some_and(|again| order(&again, unset) == Some(Ordering::Equal))
        };
        if let Some(unset) = reachable_unset.find(|unset| !returns(unset)) {
            compiler.problem(format!(
                "clamp: {0} means \"unset\" in the older version and is a valid value of the newer version: set \
                     its number in the older version with `older`, such as `older: -1` with `min: 0`, instead of {0}",
                unset.to_text()
            ));
        }
        if self.instead.is_some() && self.unset.is_empty() {
            compiler.problem("clamp: `older` requires numbers in `unset`");
        }
    }

    /// The older number for a newer number.
    fn lowered<'a>(&self, value: Json<'a>) -> Json<'a> {
        let is_unset = self.unset.iter().any(|unset| order(unset, &value) == Some(Ordering::Equal));
        self.instead.clone().filter(|_| is_unset).unwrap_or(value)
    }

    fn clamped<'a>(&self, value: Json<'a>) -> Option<Json<'a>> {
        if self.unset.iter().any(|unset| order(unset, &value) == Some(Ordering::Equal)) {
            return None;
        }
        let beyond = |bound: &&Json<'static>, wanted: Ordering| order(&value, bound) == Some(wanted);
        let below = self.min.as_ref().filter(|min| beyond(min, Ordering::Less));
        let above = self.max.as_ref().filter(|max| beyond(max, Ordering::Greater));
        Some(below.or(above).cloned().unwrap_or(value))
    }
}

/// Compares two numbers. `None` if a value is no number.
fn order(one: &Json<'_>, two: &Json<'_>) -> Option<Ordering> {
    if one.type_name() != "number" || two.type_name() != "number" {
        return None;
    }
    let (one, two) = (one.scalar()?, two.scalar()?);
    match (one.parse::<i64>(), two.parse::<i64>()) {
        (Ok(one), Ok(two)) => Some(one.cmp(&two)),
        _ => one.parse::<f64>().ok()?.partial_cmp(&two.parse::<f64>().ok()?),
    }
}
