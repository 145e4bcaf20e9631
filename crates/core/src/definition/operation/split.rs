//! `split`: one string of the older version is several fields of the newer one, such as `host:port`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use smallvec::smallvec;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use super::retype::{DIGITS, retype};
use crate::definition::side::{Side, Sides};
use crate::definition::{place::Place, schema::Schema};
use crate::json::Json;

/// One string that becomes several fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Split")]
pub(crate) struct SplitSpec {
    /// The string of the older version.
    field: String,
    /// The fields of the newer version, in the order of the parts. Strings, numbers or booleans.
    into: Vec<String>,
    /// The separator of the parts. Parts are split off from the right, so `[::1]:80` has two.
    separator: String,
}

impl SplitSpec {
    /// Compiles the operation.
    pub(super) fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        if self.separator.is_empty() || self.into.len() < 2 {
            compiler.problem("split: needs a separator and at least two fields in `into`");
            return None;
        }
        let whole = compiler.place(Side::Older, &self.field);
        let parts: Vec<_> = self.into.iter().map(|part| compiler.place(Side::Newer, part)).collect();
        let places = Sides { older: vec![whole?], newer: parts.into_iter().collect::<Option<Vec<_>>>()? };
        for place in places.older.iter().chain(places.newer.iter().take(1)) {
            if !place.schema.is("string") {
                compiler.problem(format!("split: {} must be a string", place.path));
            }
        }
        for Place { path, schema, .. } in places.newer.iter().skip(1) {
            if schema.is("object") || schema.is("array") {
                compiler.problem(format!("split: {path} must be a string, a number or a boolean"));
            }
            if let Some(unchecked) = schema.unchecked() {
                compiler.problem(format!(
                    "split: {path} has {unchecked}, and pointsman cannot check parts against this rule: use a \
                         rule of the whole object, or `drop` and `add`"
                ));
            }
        }
        Some(Operation::new("split", places, Split { separator: self.separator.clone() }))
    }
}

/// Maps the older string to the newer parts.
#[derive(Debug)]
struct Split {
    separator: String,
}

impl Mapping for Split {
    fn map<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        match to {
            Side::Newer => self.parts(from.first().cloned().flatten(), places),
            Side::Older => smallvec![self.joined(from)],
        }
    }

    /// A string of another form is shown whole in the first part, and the parts form one string. So the constraints of
    /// both must agree, or be accepted.
    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        let (whole, first) = (&older.schema, &newer.schema);
        let is_of_all = |key: &str| matches!(key, "maxLength" | "pattern") && whole.bounds.contains_key(key);
        let own = |(key, bound): (&String, &Value)| (key.clone(), bound.clone());
        Unexplained::schemas(
            Schema { default: first.default.clone(), nullable: first.nullable, ..whole.clone() },
            // The length and pattern of the whole apply to the joined string, not to each part.
            Schema {
                bounds: first.bounds.iter().filter(|(key, _)| !is_of_all(key)).map(own).collect(),
                ..first.clone()
            },
        )
    }

    fn may_lack(&self, to: Side, at: usize, places: &Sides<Vec<Place>>) -> Option<String> {
        if to == Side::Newer && at > 0 {
            return Some("a string with fewer parts has no such part".to_owned());
        }
        let from = places.of(to.other()).first().filter(|from| from.schema.nullable)?;
        Some(format!("{} may be null, which has no string", from.path))
    }

    fn adds(&self, to: Side) -> u64 {
        match to {
            // The growth of a number in a string, as for `type`.
            Side::Newer => DIGITS,
            Side::Older => self.separator.len() as u64,
        }
    }
}

impl Split {
    fn parts<'a>(&self, whole: Option<Json<'a>>, places: &[Place]) -> Fragment<'a> {
        let none = || places.iter().map(|_| None).collect::<Fragment<'a>>();
        let Some(whole) = whole else { return none() };
        let Some(text) = whole.as_str().map(|text| text.into_owned()) else {
            return none();
        };
        let mut parts: Vec<&str> = text.rsplitn(places.len(), &self.separator).collect();
        parts.reverse();
        let typed = |(part, place): (&&str, &Place)| retype(Json::string(part), place).map(Some);
        let parts: Option<Fragment<'_>> = parts.iter().zip(places).map(typed).collect();
        // If a part is invalid for its field, the string has another form. The first field then contains the whole
        // string.
        let mut parts = parts.unwrap_or_else(|| smallvec![Some(whole.clone())]);
        parts.resize(places.len(), None);
        parts
    }

    fn joined<'a>(&self, parts: &[Option<Json<'a>>]) -> Option<Json<'a>> {
        let present: Vec<_> = parts.iter().map_while(|part| part.as_ref().filter(|part| !part.is_null())).collect();
        if present.is_empty() {
            return None;
        }
        let text =
            |part: &Json<'_>| part.as_str().map(|text| text.into_owned()).or_else(|| part.scalar().map(str::to_owned));
        let texts: Option<Vec<String>> = present.into_iter().map(text).collect();
        texts.map(|texts| Json::string(&texts.join(&self.separator)))
    }
}
