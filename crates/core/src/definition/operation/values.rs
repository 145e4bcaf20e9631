//! `values`: values have other names.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use smallvec::smallvec;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::definition::side::{Side, Sides};
use crate::definition::{place::Place, schema::Schema};
use crate::json::Json;

/// A mapping of values.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Values")]
pub(crate) struct ValuesSpec {
    /// The field, at the same place in both versions.
    field: Option<String>,
    /// The field in the older version, if the paths differ.
    from: Option<String>,
    /// The field in the newer version, if the paths differ.
    to: Option<String>,
    /// Maps values of the older version to values of the newer version. Other values are copied unchanged. If two older
    /// values map to the same newer value, an object created in the newer version gets the first. Several newer values
    /// for an older value need a list of pairs: `[[Running, Running], [Running, Updating]]`.
    #[schemars(with = "MapSpec")]
    map: Rows,
}

/// Pairs of values.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only for the JSON Schema of `Rows`")]
enum MapSpec {
    /// Older value to newer value.
    Map(std::collections::BTreeMap<String, Value>),
    /// Pairs of older and newer value.
    Pairs(Vec<(Value, Value)>),
}

/// Pairs of values, in written order.
#[derive(Clone, Debug)]
struct Rows(Vec<(Older, Value)>);

/// A value of the older version.
#[derive(Clone, Debug)]
enum Older {
    /// The key of a YAML mapping: a text for any type of field.
    Key(String),
    Value(Value),
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RowsVisitor)
    }
}

struct RowsVisitor;

impl<'de> Visitor<'de> for RowsVisitor {
    type Value = Rows;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{OLDER: NEWER, …}, or a list of pairs")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Rows, A::Error> {
        let mut rows = Vec::new();
        while let Some((older, newer)) = map.next_entry()? {
            rows.push((Older::Key(older), newer));
        }
        Ok(Rows(rows))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Rows, A::Error> {
        let mut rows = Vec::new();
        while let Some((older, newer)) = list.next_element()? {
            rows.push((Older::Value(older), newer));
        }
        Ok(Rows(rows))
    }
}

impl ValuesSpec {
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
        let places = compiler.one_or_two("values", ("field", &self.field), &self.from, &self.to)?;
        let is_text = places.older.schema.is("string") || places.older.schema.kind.is_none();
        let mut pairs: Vec<Sides<Json<'static>>> = Vec::new();
        for (older, newer) in &self.map.0 {
            let older = match older {
                Older::Key(text) if is_text => Value::String(text.clone()),
                Older::Key(text) => scalar(text),
                Older::Value(value) => value.clone(),
            };
            let pair = Sides { older, newer: newer.clone() }.map(|value| Json::owned(value.to_string()));
            for side in [Side::Older, Side::Newer] {
                let (Place { path, schema, .. }, value) = (places.of(side), pair.of(side));
                if !schema.takes(value) {
                    let bare = schema.is("string") && value.as_str().is_none();
                    let quote =
                        if bare { ": quote the value (YAML reads y, n, yes, no, on and off as booleans)" } else { "" };
                    compiler.problem(format!("values: {path} cannot be {}{quote}", value.to_text()));
                }
            }
            if pairs.iter().any(|other| other.older.same(&pair.older) && other.newer.same(&pair.newer)) {
                compiler.problem(format!("values: {} and {} occur twice", pair.older.to_text(), pair.newer.to_text()));
            }
            pairs.push(pair);
        }
        if pairs.is_empty() {
            compiler.problem("values: `map` is empty: add at least one value".to_owned());
        }
        Some(Operation::between("values", places, Values { pairs }))
    }
}

/// The value of a YAML mapping key, for a field that is no string.
fn scalar(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Pairs of older and newer value.
#[derive(Debug)]
struct Values {
    pairs: Vec<Sides<Json<'static>>>,
}

impl Mapping for Values {
    /// Copies a value without a pair, unless its type is valid on this side only. Another step may have more values
    /// than this one.
    fn map<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        smallvec![from.first().cloned().flatten().and_then(|value| {
            let mut rows = self.pairs.iter();
            match rows.find(|pair| pair.of(to.other()).same(&value)) {
                Some(pair) => Some(pair.of(to).clone()),
                None => {
                    let is_of_rows = self.pairs.iter().any(|pair| pair.of(to.other()).type_name() == value.type_name());
                    let fits = places.first().is_none_or(|place| place.schema.has_types_of(&value));
                    (fits || !is_of_rows).then_some(value)
                }
            }
        })]
    }

    /// The values without a pair must be equal on both sides, and are allowed only if the types agree.
    fn unexplained(&self, at: &str, older: &Place, newer: &Place) -> Unexplained {
        let (older, newer) = (&older.schema, &newer.schema);
        let unnamed = [self.unnamed(Side::Older, older), self.unnamed(Side::Newer, newer)];
        let open = unnamed.iter().any(|options| options.as_ref().is_none_or(|options| !options.is_empty()));
        let kind = |schema: &Schema| schema.kind.clone().unwrap_or_else(|| "anything".to_owned());
        let problem = || {
            format!(
                "values: {at} has another type in the newer version (older: {}; newer: {}), and some values are \
                     missing in `map`: name all, and give both versions an `enum`; or use `type`",
                kind(older),
                kind(newer)
            )
        };
        let [one, two] = unnamed;
        Unexplained {
            problem: (open && older.kind != newer.kind).then(problem),
            ..Unexplained::schemas(
                Schema { options: one, default: self.renamed(older), ..older.clone() },
                Schema {
                    options: two,
                    kind: older.kind.clone(),
                    // If all values have a pair, no value is left with a format.
                    format: if open { newer.format.clone() } else { older.format.clone() },
                    ..newer.clone()
                },
            )
        }
    }

    /// Returns whether no two values map to one, by two pairs or by a pair and a copied value.
    fn is_injective(&self, places: &Sides<Vec<Place>>) -> bool {
        [Side::Older, Side::Newer].into_iter().all(|to| {
            let from = to.other();
            let carried = |value: &Json<'_>| {
                places.of(from).first().is_some_and(|place| place.schema.admits(value))
                    && !self.pairs.iter().any(|pair| pair.of(from).same(value))
            };
            self.pairs.iter().enumerate().all(|(at, pair)| {
                let mut others = self.pairs.iter().skip(at + 1);
                !others.any(|other| other.of(to).same(pair.of(to))) && !carried(pair.of(to))
            })
        })
    }

    fn adds(&self, to: Side) -> u64 {
        self.pairs.iter().map(|pair| pair.of(to).size() as u64).max().unwrap_or_default()
    }
}

impl Values {
    /// The default of the older version as a newer value.
    fn renamed(&self, older: &Schema) -> Option<Value> {
        let default = older.default.as_ref()?;
        let value = Json::owned(default.to_string());
        let pair = self.pairs.iter().find(|pair| pair.older.same(&value));
        pair.map_or_else(|| Some(default.clone()), |pair| serde_json::from_str(&pair.newer.to_text()).ok())
    }

    /// The values of a closed set without a pair. A boolean is a closed set too.
    fn unnamed(&self, side: Side, schema: &Schema) -> Option<Vec<Value>> {
        let boolean = || schema.is("boolean").then(|| vec![Value::from(false), Value::from(true)]);
        let named = |option: &Value| {
            let option = option.to_string();
            self.pairs.iter().any(|pair| pair.of(side).to_text() == option)
        };
        let all = schema.options.clone().or_else(boolean)?;
        Some(all.into_iter().filter(|option| !named(option)).collect())
    }
}
