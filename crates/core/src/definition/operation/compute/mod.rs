//! `compute`: the fields of each version result from expressions over the fields of the other version.
//!
//! The expressions are written in the Common Expression Language, without time, random numbers or look-ups: the same
//! object always gives the same result. The two expressions need not be inverse. As for all operations, the converted
//! object is converted back, and each value that would not return by itself is kept.

mod evaluation;
mod expression;
mod functions;
mod meter;
mod parser;
mod structure;
#[cfg(test)]
mod tests;
mod types;
mod value;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use self::evaluation::Evaluation;
use self::expression::Expression;
use self::meter::{FACTOR, GAIN, Meter, most_output};
pub(in crate::definition) use self::meter::{LEAST_MEMORY, MEMORY};
use self::parser::Parser;
use self::types::Type;
use self::value::Value;
use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::definition::place::{Fill, Place};
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// Fields of both versions, with an expression for each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Compute")]
pub(crate) struct ComputeSpec {
    /// The fields of the older version: a path, which expressions call `value`, or `{NAME: PATH, …}`.
    from: ComputedFieldsSpec,
    /// The fields of the newer version: a path, which expressions call `value`, or `{NAME: PATH, …}`.
    to: ComputedFieldsSpec,
    /// The values of `to`: an expression over the names of `from`, or `{NAME: EXPRESSION, …}`. Null means absent.
    up: ExpressionsSpec,
    /// The values of `from`: an expression over the names of `to`, or `{NAME: EXPRESSION, …}`. Null means absent.
    down: ExpressionsSpec,
    /// The values of complete objects for fields of `to` without a result: a value, or `{NAME: VALUE, …}`.
    fill_to: Option<serde_json::Value>,
    /// The values of complete objects for fields of `from` without a result: a value, or `{NAME: VALUE, …}`.
    fill_from: Option<serde_json::Value>,
}

/// The fields of one version.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "takes a path, or {NAME: PATH, …}", rename = "ComputedFields")]
enum ComputedFieldsSpec {
    /// One field, with the name `value`.
    One(String),
    /// Fields by their names in expressions.
    Named(BTreeMap<String, String>),
}

/// The expressions of one direction.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "takes an expression in quotes, or {NAME: EXPRESSION, …}", rename = "Expressions")]
enum ExpressionsSpec {
    /// The expression of the only field.
    One(String),
    /// Expressions by the names of the fields.
    Named(BTreeMap<String, String>),
}

/// The name of a single field in expressions.
const SINGLE: &str = "value";

impl ComputedFieldsSpec {
    /// The names and paths. Sorted by path, because the first path identifies the kept values of the operation, and
    /// must not change with a name.
    fn fields(&self) -> Vec<(&str, &str)> {
        let mut fields: Vec<(&str, &str)> = match self {
            Self::One(path) => vec![(SINGLE, path)],
            Self::Named(fields) => fields.iter().map(|(name, path)| (name.as_str(), path.as_str())).collect(),
        };
        fields.sort_by_key(|(_, path)| *path);
        fields
    }
}

impl ComputeSpec {
    /// Compiles the operation.
    pub(super) fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let mut fields = Sides {
            older: self.places(Side::Older, &self.from, compiler),
            newer: self.places(Side::Newer, &self.to, compiler),
        };
        self.fill("fillFrom", &self.fill_from, fields.older.as_mut()?, compiler);
        self.fill("fillTo", &self.fill_to, fields.newer.as_mut()?, compiler);
        let fields = Sides { older: fields.older?, newer: fields.newer? };
        let up = expressions("up", &self.up, Side::Newer, &fields, compiler);
        let down = expressions("down", &self.down, Side::Older, &fields, compiler);
        let types = |fields: &Vec<(String, Place)>| fields.iter().map(|(_, place)| Type::of(&place.schema)).collect();
        let types = Sides { older: types(&fields.older), newer: types(&fields.newer) };
        let results = Sides { older: down, newer: up };
        let nodes = |results: &[Expression]| results.iter().map(Expression::nodes).sum();
        let nodes = Sides { older: nodes(&results.older), newer: nodes(&results.newer) };
        let mapping = Compute { results, types, nodes };
        Some(Operation::new(
            "compute",
            fields.map(|fields| fields.into_iter().map(|(_, place)| place).collect()),
            mapping,
        ))
    }

    fn places(
        &self,
        side: Side,
        written: &ComputedFieldsSpec,
        compiler: &mut Compiler<'_>,
    ) -> Option<Vec<(String, Place)>> {
        let fields = written.fields();
        if fields.is_empty() {
            compiler.problem("compute: needs at least one field in `from` and in `to`");
            return None;
        }
        for (name, _) in &fields {
            if !is_name(name) {
                compiler.problem(format!("compute: {name:?} is no name for an expression: use letters, digits and _"));
            } else if RESERVED.contains(name) {
                compiler.problem(format!(
                    "compute: {name:?} is a reserved word of expressions: give the field another name, such as {name}_"
                ));
            }
        }
        let places: Vec<_> =
            fields.iter().map(|(name, path)| Some(((*name).to_owned(), compiler.place(side, path)?))).collect();
        places.into_iter().collect()
    }

    /// Sets the values for fields without a result.
    fn fill(
        &self,
        key: &str,
        written: &Option<serde_json::Value>,
        fields: &mut [(String, Place)],
        compiler: &mut Compiler<'_>,
    ) {
        let Some(written) = written else { return };
        let values: Vec<(String, serde_json::Value)> = match (fields.first(), written) {
            (Some((name, _)), value) if name == SINGLE => vec![(SINGLE.to_owned(), value.clone())],
            (_, serde_json::Value::Object(values)) => values.clone().into_iter().collect(),
            _ => {
                compiler.problem(format!("compute: `{key}` takes {{NAME: VALUE, …}}"));
                return;
            }
        };
        for (name, value) in values {
            let Some((_, place)) = fields.iter_mut().find(|(other, _)| *other == name) else {
                compiler.problem(format!("compute: `{key}` names {name:?}, which is no field there"));
                continue;
            };
            let value = place.schema.filled(value);
            compiler.takes("compute", place, &value);
            place.fill = Some(Fill::Value(value));
        }
    }
}

/// Reserved words that are no literals and no operators (CEL language definition, "Syntax").
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "namespace",
    "package",
    "return",
    "var",
    "void",
    "while",
];

/// Returns whether expressions can name a field without quotes.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !["in", "true", "false", "null"].contains(&name)
}

/// Compiles the expressions of one direction, in the order of the places of the side `to`.
fn expressions(
    key: &str,
    written: &ExpressionsSpec,
    to: Side,
    fields: &Sides<Vec<(String, Place)>>,
    compiler: &mut Compiler<'_>,
) -> Vec<Expression> {
    let texts: BTreeMap<&str, &str> = match written {
        ExpressionsSpec::One(text) => BTreeMap::from([(SINGLE, text.as_str())]),
        ExpressionsSpec::Named(texts) => texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect(),
    };
    let variable = |(name, place): &(String, Place)| (name.clone(), Type::of(&place.schema));
    let targets = fields.of(to);
    for name in texts.keys().filter(|name| !targets.iter().any(|(other, _)| other == *name)) {
        compiler.problem(format!("compute: `{key}` has an expression for {name:?}, which is no field of that version"));
    }
    let expression = |(name, place): &(String, Place)| {
        let text = texts.get(name.as_str()).ok_or_else(|| format!("has no expression for {name:?}"))?;
        let variables = fields.of(to.other()).iter().map(variable).collect();
        let of_field = |why: String| format!("of {}: {why}", place.path);
        let (expression, kind) = Parser::new(variables).parse(text).map_err(of_field)?;
        Type::of(&place.schema).refuses(&kind).map_or(Ok(expression), |why| Err(of_field(why)))
    };
    let compiled = targets.iter().map(|target| {
        expression(target).unwrap_or_else(|why: String| {
            compiler.problem(format!("compute: `{key}` {why}"));
            // The operation remains, so that its fields have no further problems.
            Expression::Literal(Value::Null)
        })
    });
    compiled.collect()
}

/// Maps values with an expression for each place.
#[derive(Debug)]
struct Compute {
    /// The expressions for the places of each side.
    results: Sides<Vec<Expression>>,
    /// The types of the places of each side.
    types: Sides<Vec<Type>>,
    /// The number of parts of the expressions of each side, which bounds their work.
    nodes: Sides<usize>,
}

impl Mapping for Compute {
    fn map<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let nothing = || places.iter().map(|_| None).collect();
        if from.iter().all(Option::is_none) {
            return nothing();
        }
        self.computed(to, places, from).unwrap_or_else(nothing)
    }

    /// Values that the schema of a place does not allow are absent. Only the API server checks some constraints: the
    /// definition accepts them.
    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        let rest = |schema: &Schema| Schema {
            rules: schema.rules.clone(),
            bounds: schema.unchecked_bounds(),
            ..Schema::default()
        };
        Unexplained::schemas(rest(&older.schema), rest(&newer.schema))
    }

    fn may_lack(&self, _: Side, _: usize, _: &Sides<Vec<Place>>) -> Option<String> {
        Some("an expression may return no value".to_owned())
    }

    fn adds(&self, _: Side) -> u64 {
        GAIN as u64
    }

    fn expands(&self) -> u64 {
        FACTOR as u64 - 1
    }
}

impl Compute {
    /// The values of a side as variables. `None` if a value has no exact form in an expression.
    fn sources(&self, side: Side, from: &[Option<Json<'_>>]) -> Option<Vec<Value>> {
        let read = |(value, kind): (&Option<Json<'_>>, &Type)| match value {
            Some(value) => Value::read(value, kind),
            None => Some(Value::Null),
        };
        from.iter().zip(self.types.of(side)).map(read).collect()
    }

    fn computed<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Option<Fragment<'a>> {
        let input: usize = from.iter().flatten().map(Json::size).sum();
        let mut meter = Meter::new(*self.nodes.of(to), input);
        let mut evaluation = Evaluation { variables: self.sources(to.other(), from)?, meter: &mut meter };
        let mut output = 0;
        let mut found = Fragment::new();
        for (expression, place) in self.results.of(to).iter().zip(places) {
            let value = evaluation.value(expression).ok().filter(|value| *value != Value::Null);
            let json = value.and_then(|value| value.to_json()).map(Json::owned);
            let json = json.filter(|json| place.schema.admits(json));
            output += json.as_ref().map_or(0, Json::size);
            found.push(json);
        }
        (output <= most_output(input)).then_some(found)
    }
}
