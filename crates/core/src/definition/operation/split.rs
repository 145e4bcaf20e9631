//! `split`: one string of the older version is several fields of the newer one, such as `host:port`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use smallvec::smallvec;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use super::retype::{DIGITS, retype};
use crate::definition::path::Path;
use crate::definition::side::{Side, Sides};
use crate::definition::{place::Place, schema::Schema};
use crate::json::Json;

/// One string that becomes several fields.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Split")]
pub(crate) struct SplitSpec {
    /// The string of the older version.
    field: String,
    /// The fields of the newer version, in the order of the parts. Strings, numbers or booleans. `_` is a part that
    /// the newer version lacks.
    into: Vec<String>,
    /// The separator of the parts. Parts are split off from the right, so `[::1]:80` has two.
    separator: String,
    /// The text of a part whose field is absent, such as `*`. By default, a part is absent only if all parts after it
    /// are.
    missing: Option<String>,
    /// The text for `_` in a string without a kept one.
    rest: Option<String>,
}

/// A part that the newer version lacks.
const LACKING: &str = "_";

impl SplitSpec {
    /// Compiles the operation.
    pub(super) fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let Self { field, into, separator, missing, rest } = self;
        let lacking = into.iter().filter(|part| *part == LACKING).count();
        if separator.is_empty() || into.len() < 2 || lacking == into.len() {
            compiler.problem("split: needs a separator and at least two parts in `into`, and a field for one of them");
            return None;
        }
        if lacking > 1 || (lacking == 1) != rest.is_some() {
            compiler.problem("split: one part may be `_`, and then `rest` has its text for new objects");
            return None;
        }
        let is_inside = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(separator.as_str()));
        if is_inside(missing) || is_inside(rest) {
            compiler.problem("split: `missing` and `rest` cannot contain the separator");
        }
        let whole = compiler.place(Side::Older, field);
        let fields = into.iter().filter(|part| *part != LACKING);
        let parts: Vec<_> = fields.map(|part| compiler.place(Side::Newer, part)).collect();
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
        let rest = rest.clone().map(|text| (into.iter().position(|part| part == LACKING).unwrap_or_default(), text));
        let split = Split { separator: separator.clone(), count: into.len(), missing: missing.clone(), rest };
        Some(match object(&places, &split, compiler) {
            Some((object, parts)) => {
                let places = Sides { older: places.older, newer: vec![object] };
                Operation::new("split", places, SplitObject { parts, split })
            }
            None => Operation::new("split", places, split),
        })
    }
}

/// The object that has all parts and no other field, if `missing` is written. It exists even if all parts are missing.
fn object(places: &Sides<Vec<Place>>, split: &Split, compiler: &Compiler<'_>) -> Option<(Place, Vec<Place>)> {
    split.missing.as_ref().filter(|_| split.rest.is_none())?;
    let parent = places.newer.first()?.path.parent().filter(|parent| !parent.is_empty())?;
    let schema = compiler.newer.at(&parent)?.clone();
    let is_part = |name: &String| {
        let path = parent.join(name);
        places.newer.iter().any(|place| place.path == path)
    };
    let is_whole = schema.is("object")
        && schema.each.is_none()
        && !schema.preserve
        && places.newer.iter().all(|place| place.path.parent().as_ref() == Some(&parent))
        && schema.properties.keys().all(is_part)
        && schema.required.is_empty();
    if !is_whole {
        return None;
    }
    let names = |place: &Place| Some(Path::default().join(place.path.names().last()?));
    let parts: Option<Vec<Place>> =
        places.newer.iter().map(|place| Some(Place::new(names(place)?, place.schema.clone()))).collect();
    let required = compiler.newer.requires(&parent);
    Some((Place { required, ..Place::new(parent, schema) }, parts?))
}

/// Maps the older string to the newer parts.
#[derive(Debug)]
struct Split {
    separator: String,
    /// The number of parts, including one that the newer version lacks.
    count: usize,
    missing: Option<String>,
    /// The position and the text of a part that the newer version lacks.
    rest: Option<(usize, String)>,
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
        match (to, &self.missing, &self.rest) {
            (Side::Newer, Some(missing), _) => return Some(format!("a part {missing:?} has no value")),
            (Side::Newer, None, Some(_)) => return Some("a string with fewer parts has no such part".to_owned()),
            (Side::Newer, None, None) if at > 0 => {
                return Some("a string with fewer parts has no such part".to_owned());
            }
            _ => {}
        }
        let from = places.of(to.other()).first().filter(|from| from.schema.nullable)?;
        Some(format!("{} may be null, which has no string", from.path))
    }

    fn adds(&self, to: Side) -> u64 {
        match to {
            // The growth of a number in a string, as for `type`.
            Side::Newer => DIGITS,
            Side::Older => self.joints(),
        }
    }
}

impl Split {
    /// The maximum number of bytes that join parts.
    fn joints(&self) -> u64 {
        let missing = self.missing.as_ref().map_or(0, |text| self.count * (text.len() + self.separator.len()));
        let rest = self.rest.as_ref().map_or(0, |(_, text)| text.len());
        (self.separator.len() + missing + rest) as u64
    }

    fn parts<'a>(&self, whole: Option<Json<'a>>, places: &[Place]) -> Fragment<'a> {
        let none = || places.iter().map(|_| None).collect::<Fragment<'a>>();
        let Some(whole) = whole else { return none() };
        let Some(text) = whole.as_str().map(|text| text.into_owned()) else {
            return none();
        };
        let mut parts: Vec<Option<&str>> = text.rsplitn(self.count, &self.separator).map(Some).collect();
        parts.reverse();
        let has_other_form = self.missing.is_some() && self.rest.is_none() && parts.len() < self.count;
        if let Some((lacking, _)) = &self.rest {
            // Of a string with one part, that part is the one that the newer version lacks if it is the last.
            let is_last = *lacking + 1 == self.count;
            while parts.len() < self.count {
                parts.insert(if is_last { 0 } else { parts.len() }, None);
            }
            parts.remove(*lacking);
        }
        let present =
            |part: &Option<&str>| part.filter(|part| self.missing.as_deref() != Some(part)).map(str::to_owned);
        let typed = |(part, place): (&Option<&str>, &Place)| match present(part) {
            Some(part) => retype(Json::string(&part), place).map(Some),
            None => Some(None),
        };
        let parts: Option<Fragment<'_>> = parts.iter().zip(places).map(typed).collect();
        // If a part is invalid for its field, the string has another form. The first field then contains the whole
        // string.
        let mut parts = parts.filter(|_| !has_other_form).unwrap_or_else(|| smallvec![Some(whole.clone())]);
        parts.resize(places.len(), None);
        parts
    }

    fn joined<'a>(&self, parts: &[Option<Json<'a>>]) -> Option<Json<'a>> {
        let present = |part: &Option<Json<'a>>| part.clone().filter(|part| !part.is_null());
        if parts.iter().all(|part| present(part).is_none()) {
            return None;
        }
        let mut texts = self.texts(parts)?;
        if let Some((at, rest)) = &self.rest {
            texts.insert((*at).min(texts.len()), rest.clone());
        }
        Some(Json::string(&texts.join(&self.separator)))
    }

    /// The texts of the parts. Without `missing`, those before the first absent part.
    fn texts(&self, parts: &[Option<Json<'_>>]) -> Option<Vec<String>> {
        let text =
            |part: &Json<'_>| part.as_str().map(|text| text.into_owned()).or_else(|| part.scalar().map(str::to_owned));
        let mut texts = Vec::new();
        for part in parts {
            match (part.as_ref().filter(|part| !part.is_null()), &self.missing) {
                (Some(part), _) => texts.push(text(part)?),
                (None, Some(missing)) => texts.push(missing.clone()),
                (None, None) => break,
            }
        }
        Some(texts)
    }
}

/// Maps the older string to an object that has the parts and no other field.
#[derive(Debug)]
struct SplitObject {
    /// The fields of the object, in the order of the parts.
    parts: Vec<Place>,
    split: Split,
}

impl Mapping for SplitObject {
    fn map<'a>(&self, to: Side, _: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let value = from.first().and_then(Option::as_ref).filter(|value| !value.is_null());
        smallvec![match to {
            Side::Newer => value.filter(|value| value.as_str().is_some()).map(|value| self.object(value)),
            Side::Older => value.filter(|value| value.is_object()).and_then(|value| self.string(value)),
        }]
    }

    /// The length and pattern of the whole string have no counterpart. Those of a part do: a string of another form is
    /// shown whole in the first part.
    fn unexplained(&self, at: &str, older: &Place, newer: &Place) -> Unexplained {
        let Some(first) = self.parts.first() else { return Unexplained::default() };
        let of_string = self.split.unexplained(at, older, first);
        let nullable = |schema: Schema, place: &Place| Schema { nullable: place.schema.nullable, ..schema };
        let default = |schema: Schema| Schema { default: None, ..schema };
        let schemas = of_string.schemas.map(|Sides { older: one, newer: two }| Sides {
            older: default(nullable(one, older)),
            newer: default(nullable(two, newer)),
        });
        Unexplained { schemas, ..of_string }
    }

    fn may_lack(&self, _: Side, _: usize, places: &Sides<Vec<Place>>) -> Option<String> {
        let mut all = places.older.iter().chain(&places.newer);
        let null = all.find(|place| place.schema.nullable)?;
        Some(format!("{} may be null, which has no value in the other version", null.path))
    }

    fn adds(&self, to: Side) -> u64 {
        match to {
            Side::Newer => self.parts.iter().map(|part| part.id.len() as u64 + DIGITS + 6).sum(),
            Side::Older => self.split.joints(),
        }
    }
}

impl SplitObject {
    fn object(&self, whole: &Json<'_>) -> Json<'static> {
        let parts = self.split.parts(Some(whole.clone()), &self.parts);
        let member = |(part, place): (&Option<Json<'_>>, &Place)| {
            let value: Value = serde_json::from_str(&part.as_ref()?.to_text()).ok()?;
            Some((place.path.names().last()?.to_string(), value))
        };
        let members: Map<String, Value> = parts.iter().zip(&self.parts).filter_map(member).collect();
        Json::owned(Value::Object(members).to_string())
    }

    fn string(&self, object: &Json<'_>) -> Option<Json<'static>> {
        let part = |place: &Place| Some(object.get(place.path.names().last()?)?.into_owned());
        let parts: Vec<Option<Json<'_>>> = self.parts.iter().map(part).collect();
        Some(Json::string(&self.split.texts(&parts)?.join(&self.split.separator)))
    }
}
