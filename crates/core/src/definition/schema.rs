//! The part of a structural OpenAPI v3 schema that conversion needs: allowed values and defaults.
//!
//! Source: `apiextensions-apiserver pkg/apis/apiextensions/v1/types_jsonschema.go`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;
use uuid::Uuid;

use super::path::Path;
use crate::apimachinery::{did_you_mean, go_regex, meant_within};
use crate::json::{Canonical, Json, go_number, normal};

/// A node of a schema.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean` or `int-or-string`. `None` allows any type.
    pub(crate) kind: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) nullable: bool,
    pub(crate) preserve: bool,
    /// An embedded Kubernetes object. It has `apiVersion`, `kind` and `metadata` independent of the properties.
    pub(super) embedded: bool,
    pub(crate) default: Option<Value>,
    pub(crate) options: Option<Vec<Value>>,
    pub(crate) properties: BTreeMap<String, Self>,
    pub(crate) required: BTreeSet<String>,
    /// List items, or the values of a map.
    pub(crate) each: Option<Box<Self>>,
    pub(crate) list_keys: Vec<String>,
    /// `atomic`, `set` or `map`: how lists merge, and which items may be equal.
    pub(super) list_type: Option<String>,
    /// The rules of `x-kubernetes-validations`, sorted.
    pub(super) rules: BTreeSet<String>,
    /// Keywords that bound a value, such as `minimum`, `maxLength` and `pattern`. Whole numbers are stored as integers.
    pub(crate) bounds: BTreeMap<String, Value>,
}

/// A place without a schema.
pub(crate) static ANYTHING: Schema = Schema {
    kind: None,
    format: None,
    nullable: false,
    preserve: false,
    embedded: false,
    default: None,
    options: None,
    properties: BTreeMap::new(),
    required: BTreeSet::new(),
    each: None,
    list_keys: Vec::new(),
    list_type: None,
    rules: BTreeSet::new(),
    bounds: BTreeMap::new(),
};

/// The keywords that bound a value and are compared between versions.
pub(super) const BOUNDS: [&str; 17] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "oneOf",
    "anyOf",
    "allOf",
    "not",
];

/// The bounds that are checked here. The API server checks the other bounds.
const CHECKED: [&str; 8] =
    ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];

/// Returns whether a keyword bounds any value. A minimum size of 0 and `uniqueItems: false` do not.
fn is_bound(key: &str, bound: &Value) -> bool {
    match key {
        "minLength" | "minItems" | "minProperties" => bound.as_u64() != Some(0),
        _ => *bound != Value::Bool(false),
    }
}

impl Schema {
    /// Reads a schema. Ignores keywords that do not affect conversion.
    pub(crate) fn read(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or_default();
        let strings = |key: &str| {
            let list = value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let int_or_string = flag("x-kubernetes-int-or-string");
        let properties = value.get("properties").and_then(Value::as_object);
        let additional = value.get("additionalProperties").filter(|value| value.is_object());
        // The default of an item or entry replaces a null, and never creates an item.
        let each = value.get("items").or(additional).map(|each| Box::new(Self { default: None, ..Self::read(each) }));
        Self {
            kind: if int_or_string { Some("int-or-string".to_owned()) } else { text("type") },
            format: text("format"),
            nullable: flag("nullable"),
            preserve: flag("x-kubernetes-preserve-unknown-fields")
                || value.get("additionalProperties").and_then(Value::as_bool).unwrap_or_default(),
            embedded: flag("x-kubernetes-embedded-resource"),
            default: value.get("default").map(canonical_numbers),
            options: value.get("enum").and_then(Value::as_array).map(|all| all.iter().map(canonical_numbers).collect()),
            properties: properties
                .into_iter()
                .flatten()
                .map(|(name, property)| (name.clone(), Self::read(property)))
                .collect(),
            required: strings("required").into_iter().collect(),
            each,
            list_keys: strings("x-kubernetes-list-map-keys"),
            list_type: text("x-kubernetes-list-type").filter(|kind| kind != "atomic"),
            rules: value
                .get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(|rule| Some(rule.get("rule")?.as_str()?.trim().to_owned()))
                .collect(),
            bounds: BOUNDS
                .iter()
                .filter(|key| !(int_or_string && **key == "anyOf"))
                .filter_map(|key| Some((*key, canonical_numbers(value.get(*key)?))))
                .filter(|(key, bound)| is_bound(key, bound))
                .map(|(key, bound)| (key.to_owned(), bound))
                .collect(),
        }
    }

    /// A value without a schema. If it is a list or map, so are its items.
    pub(super) fn anything() -> Self {
        let item = Self { preserve: true, nullable: true, ..Self::default() };
        Self { each: Some(Box::new(item.clone())), ..item }
    }

    /// Returns whether the value is of any type and has no schema inside.
    pub(crate) fn is_schemaless(&self) -> bool {
        self.preserve && self.kind.is_none()
    }

    /// Adds a field that may have any value, with its parents. Existing fields stay.
    pub(super) fn add_schemaless(&mut self, names: &[Box<str>]) {
        let mut at = self;
        for name in names {
            at = at.properties.entry(name.to_string()).or_insert_with(Self::anything);
        }
    }

    /// Returns whether the type is `kind`.
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }

    /// Returns whether the type is a string, a number or a boolean.
    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self.kind.as_deref(), Some("object" | "array") | None)
    }

    /// The default that the API server fills in for an absent value, including nested defaults.
    pub(crate) fn default_value(&self) -> Option<Json<'static>> {
        self.default.clone().map(|value| self.filled(value))
    }

    /// A value with all nested defaults of the API server.
    pub(super) fn filled(&self, mut value: Value) -> Json<'static> {
        self.fill_inside(&mut value);
        Self::written(&value)
    }

    /// Returns whether a default exists below this node.
    pub(super) fn fills_inside(&self) -> bool {
        let inner = self.properties.values().chain(self.each.as_deref());
        inner.into_iter().any(|inner| inner.default.is_some() || inner.fills_inside())
    }

    /// The default with its nested defaults, if it is an object.
    pub(super) fn default_object(&self) -> Option<Value> {
        let mut default = self.default.clone().filter(Value::is_object)?;
        self.fill_inside(&mut default);
        Some(default)
    }

    /// A value in the form that the API server writes.
    pub(super) fn written(value: &Value) -> Json<'static> {
        Json::owned(normal(&value.to_string()))
    }

    /// Source: `apiextensions-apiserver pkg/apiserver/schema/defaulting/algorithm.go`.
    fn fill_inside(&self, value: &mut Value) {
        match value {
            Value::Array(items) => {
                if let Some(each) = &self.each {
                    items.iter_mut().for_each(|item| each.fill_inside(item));
                }
            }
            Value::Object(members) => {
                for (name, property) in &self.properties {
                    let lacks = |value: &Value| value.is_null() && !property.nullable;
                    if let Some(default) = &property.default
                        && members.get(name).is_none_or(lacks)
                    {
                        members.insert(name.clone(), default.clone());
                    }
                }
                for (name, member) in members {
                    if let Some(schema) = self.member(name) {
                        schema.fill_inside(member);
                    }
                }
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The schema at a path, through properties and map values.
    pub(crate) fn at(&self, path: &Path) -> Option<&Self> {
        self.find(path).ok()
    }

    /// The schema at a path.
    ///
    /// # Errors
    /// The first name without a schema, with a similar name.
    pub fn field(&self, path: &Path) -> Result<&Self, String> {
        self.find(path).map_err(|missing| format!("no {:?} there{}", missing.name, missing.did_you_mean()))
    }

    /// Returns whether a field can have a value of a definition, patterns included.
    #[must_use]
    pub fn can_be(&self, value: &Value) -> bool {
        self.takes(&Json::owned(value.to_string()))
    }

    /// The schema at a path, or the first name without a schema.
    pub(super) fn find<'p>(&self, path: &'p Path) -> Result<&Self, Missing<'_, 'p>> {
        let mut names = path.names().iter().enumerate();
        names.try_fold(self, |holder, (depth, name)| holder.member(name).ok_or(Missing { holder, name, depth }))
    }

    /// The schema at a path that is only read. Allows any field in the metadata and below an object that preserves
    /// unknown fields.
    pub(super) fn find_readable<'s, 'p>(&'s self, path: &'p Path) -> Result<&'s Self, Missing<'s, 'p>> {
        let is_metadata = path.len() > 1 && path.names().first().is_some_and(|name| **name == *"metadata");
        match self.find(path) {
            Err(missing) if is_metadata || missing.holder.preserve => Ok(&ANYTHING),
            found => found,
        }
    }

    /// The schema of a member of an object, or of an entry of a map.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        let map = || self.each.as_deref().filter(|_| self.is("object"));
        // Only objects have members, even if the schema lists properties.
        let property = self.properties.get(name).filter(|_| self.is("object") || self.kind.is_none());
        property.or_else(map)
    }

    /// Returns whether every complete object with the value at depth `holder` also has the field, or null in its place.
    /// Each name below `holder` must be required or have a default, and no parent may be nullable.
    pub(super) fn brings(&self, path: &Path, holder: usize) -> bool {
        let mut at = self;
        path.names().iter().enumerate().all(|(depth, name)| {
            let needed = depth >= holder;
            let sure = at.required.contains(name.as_ref());
            let Some(inner) = at.member(name) else { return false };
            at = inner;
            let is_object = depth + 1 == path.len() || !inner.nullable;
            !needed || is_object && (sure || inner.default.is_some())
        })
    }

    /// Returns whether the value at depth `holder` always needs the field. Each name below `holder` must be required
    /// and have no default.
    pub(super) fn needs(&self, path: &Path, holder: usize) -> bool {
        let mut at = self;
        path.names().iter().enumerate().all(|(depth, name)| {
            let sure = at.required.contains(name.as_ref());
            let Some(inner) = at.member(name) else { return false };
            at = inner;
            depth < holder || sure && inner.default.is_none()
        })
    }

    /// Returns whether the parent of a path requires the field.
    #[must_use]
    pub fn requires(&self, path: &Path) -> bool {
        let (Some(name), Some(parent)) = (path.names().last(), path.parent()) else {
            return false;
        };
        self.at(&parent).is_some_and(|parent| parent.required.contains(name.as_ref()))
    }

    /// Returns whether a value is valid here, so that clients of this version can read it. The API server checks
    /// patterns.
    pub(crate) fn admits(&self, value: &Json<'_>) -> bool {
        if value.is_null() {
            return self.can_be_null();
        }
        self.is_type_of(value) && self.admits_option(value) && self.admits_bounds(value) && self.admits_inside(value)
    }

    /// Returns whether a value of a definition is valid here, patterns included. Whole numbers must be representable by
    /// the API server.
    pub(super) fn takes(&self, value: &Json<'_>) -> bool {
        let kept = value.type_name() != "number"
            || value.scalar().is_some_and(|text| match is_integer(value) {
                true if !text.contains(['.', 'e', 'E']) => text.parse::<i64>().is_ok(),
                _ => text.parse::<f64>().is_ok_and(f64::is_finite),
            });
        kept && self.admits(value) && self.matches_patterns(value)
    }

    /// Returns whether all strings of a value match their patterns. The API server searches for the pattern, without
    /// anchors (`kube-openapi pkg/validation/validate/values.go`, `Pattern`).
    fn matches_patterns(&self, value: &Json<'_>) -> bool {
        match value.type_name() {
            "string" => self.pattern().is_none_or(|pattern| value.as_str().is_some_and(|text| pattern.is_match(&text))),
            "array" => {
                self.each.as_ref().is_none_or(|each| value.elements().iter().all(|item| each.matches_patterns(item)))
            }
            "object" => {
                let fits = |(name, value): &(Cow<'_, str>, Json<'_>)| {
                    self.member(name).is_none_or(|schema| schema.matches_patterns(value))
                };
                value.members().iter().all(fits)
            }
            _ => true,
        }
    }

    /// The pattern, if it can be checked here.
    fn pattern(&self) -> Option<Regex> {
        self.bounds.get("pattern").and_then(Value::as_str).and_then(go_regex)
    }

    /// Describes a constraint on a value of a definition that only the API server checks, if there is one.
    pub(super) fn unchecked_for(&self, value: &Json<'_>) -> Option<String> {
        let is_text = value.type_name() == "string";
        let is_checked = self.bounds.contains_key("pattern") && (!is_text || self.pattern().is_some());
        let mut rest = Self { rules: self.rules.clone(), bounds: self.bounds.clone(), ..Self::default() };
        if is_checked {
            rest.bounds.remove("pattern");
        }
        rest.format = self.format.clone().filter(|_| is_text);
        rest.unchecked()
    }

    /// Describes a constraint that only the API server checks, if there is one.
    pub(super) fn unchecked(&self) -> Option<String> {
        let bounds = self.unchecked_bounds();
        let formats = ["uuid", "int32", "int64", "float", "double", "password"];
        let format = self.format.as_deref().filter(|format| !formats.contains(format));
        let rules = || (!self.rules.is_empty()).then(|| "rules (`x-kubernetes-validations`)".to_owned());
        let bound = bounds.keys().next().map(|key| format!("`{key}`"));
        bound.or_else(|| format.map(|format| format!("the format `{format}`"))).or_else(rules)
    }

    /// Bounds that only the API server checks.
    pub(super) fn unchecked_bounds(&self) -> BTreeMap<String, Value> {
        let is_unchecked = |(key, _): &(&String, &Value)| !CHECKED.contains(&key.as_str());
        self.bounds.iter().filter(is_unchecked).map(|(key, bound)| (key.clone(), bound.clone())).collect()
    }

    /// Returns whether null is allowed here.
    pub(crate) fn can_be_null(&self) -> bool {
        // The API server replaces a null by the default if the field has one.
        self.nullable || self.default.is_some() || self.kind.is_none()
    }

    fn is_type_of(&self, value: &Json<'_>) -> bool {
        let actual = value.type_name();
        match self.kind.as_deref() {
            None => true,
            Some("int-or-string") => actual == "string" || is_integer(value),
            Some("integer") => is_integer(value),
            Some(kind) => kind == actual,
        }
    }

    /// Returns whether a value has the JSON types of this version at every depth, and the API server can decode it.
    /// Null matches every type, except in a list, because the API server keeps it there. Recursion is limited by the
    /// depth of the schema. Deeper values, of any depth, are scanned linearly.
    pub(crate) fn has_types_of(&self, value: &Json<'_>) -> bool {
        if value.is_null() {
            return true;
        }
        if self.kind.is_none() && self.properties.is_empty() && self.each.is_none() {
            return value.every_number(|number| go_number(number).is_some());
        }
        let each = self.each.as_deref().unwrap_or(&ANYTHING);
        let item = |item: &Json<'_>| (!item.is_null() || each.can_be_null()) && each.has_types_of(item);
        self.is_type_of(value)
            && match value.type_name() {
                "array" => value.elements().iter().all(item),
                "object" => value
                    .members()
                    .iter()
                    .all(|(name, member)| self.member(name).unwrap_or(&ANYTHING).has_types_of(member)),
                "number" => value.scalar().is_some_and(|number| go_number(number).is_some()),
                _ => true,
            }
    }

    fn admits_option(&self, value: &Json<'_>) -> bool {
        self.options
            .as_ref()
            .is_none_or(|options| options.iter().any(|option| Json::owned(option.to_string()).same(value)))
    }

    fn admits_bounds(&self, value: &Json<'_>) -> bool {
        let number = value.scalar().and_then(|text| text.parse::<f64>().ok());
        let size = match value.type_name() {
            "string" => value.as_str().map(|text| text.chars().count()),
            "array" => Some(value.elements().len()),
            "object" => Some(value.members().len()),
            _ => None,
        };
        let uuid =
            self.format.as_deref() != Some("uuid") || value.as_str().is_none_or(|text| Uuid::try_parse(&text).is_ok());
        // Source: `kube-openapi pkg/validation/validate/values.go`, `IsValueValidAgainstRange`.
        let fits = number.is_none_or(|number| match self.format.as_deref() {
            Some("int32") => f64::from(i32::MIN) <= number && number <= f64::from(i32::MAX),
            Some("float" | "float32") => (number as f32).is_finite(),
            _ => true,
        });
        uuid && fits
            && self.bounds.iter().all(|(key, bound)| {
                let Some(bound) = bound.as_f64() else {
                    return true;
                };
                let size = size.map(|size| size as f64);
                match key.as_str() {
                    "minimum" => number.is_none_or(|number| number >= bound),
                    "maximum" => number.is_none_or(|number| number <= bound),
                    "minLength" | "minItems" | "minProperties" => size.is_none_or(|size| size >= bound),
                    "maxLength" | "maxItems" | "maxProperties" => size.is_none_or(|size| size <= bound),
                    _ => true,
                }
            })
    }

    fn admits_inside(&self, value: &Json<'_>) -> bool {
        if value.is_array() {
            return self.each.as_ref().is_none_or(|each| value.elements().iter().all(|item| each.admits(item)));
        }
        if !value.is_object() {
            return true;
        }
        let members = value.members();
        let has = |name: &str| members.iter().any(|(member, _)| member == name);
        self.required.iter().all(|name| has(name) || self.properties.get(name).is_some_and(|p| p.default.is_some()))
            && members.iter().all(|(name, member)| self.member(name).is_none_or(|schema| schema.admits(member)))
    }

    /// Returns where the strings below this node are UUIDs.
    pub(crate) fn canonical(&self) -> Canonical {
        Canonical {
            uuid: self.format.as_deref() == Some("uuid"),
            skip: false,
            members: self.properties.iter().map(|(name, property)| (name.clone(), property.canonical())).collect(),
            each: self.each.as_ref().map(|each| Box::new(each.canonical())),
        }
    }

    /// Returns `, did you mean "x"?` if a property has a similar name.
    pub(super) fn did_you_mean(&self, name: &str) -> String {
        meant_within(name, self.properties.keys().map(String::as_str), name.len().max(3) / 2 + 1)
    }
}

/// A name that the schema does not contain.
pub(super) struct Missing<'s, 'p> {
    holder: &'s Schema,
    pub(super) name: &'p str,
    /// The number of names before the missing name.
    depth: usize,
}

impl Missing<'_, '_> {
    /// Returns whether a field without a schema is valid there. A name that is similar to a property is a mistake.
    pub(super) fn is_allowed(&self) -> bool {
        let is_typo = || !did_you_mean(self.name, self.holder.properties.keys().map(String::as_str)).is_empty();
        self.holder.preserve && self.holder.each.is_none() && !is_typo()
    }

    /// The number of names before the missing name.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// See [`Schema::did_you_mean`].
    pub(super) fn did_you_mean(&self) -> String {
        self.holder.did_you_mean(self.name)
    }

    /// A suggestion for the path: a similar name, or how to address list items.
    pub(super) fn hint(&self, path: &Path) -> String {
        if !self.holder.is("array") {
            return self.did_you_mean();
        }
        let (list, inside) = path.split_at(self.depth);
        format!(": {list} is a list; write the operation under `each: {{in: {list}, operations: […]}}`, for {inside}")
    }
}

/// The properties of both schemas, by name.
pub(super) fn properties<'s>(
    older: &'s Schema,
    newer: &'s Schema,
) -> impl Iterator<Item = (&'s str, Option<&'s Schema>, Option<&'s Schema>)> {
    let names: BTreeSet<&String> = older.properties.keys().chain(newer.properties.keys()).collect();
    names.into_iter().map(|name| (name.as_str(), older.properties.get(name), newer.properties.get(name)))
}

/// Returns whether the API server treats the value as an integer: an int64, or a float without a fraction up to 2⁵³ -
/// 1. 1.0 and 1e2 are integers, 1e21 is not (`go-openapi/swag convert.go`, `IsFloat64AJSONInteger`).
fn is_integer(value: &Json<'_>) -> bool {
    let exact =
        |text: &str| text.parse::<i64>().is_ok() || text.parse().is_ok_and(|float: f64| float.abs() <= MAX_SAFE);
    has_no_fraction(value) && value.scalar().is_some_and(exact)
}

/// The largest whole number that a float represents unambiguously: 2⁵³ - 1.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

fn has_no_fraction(value: &Json<'_>) -> bool {
    let whole = |text: &str| text.parse().is_ok_and(|float: f64| float.fract() == 0.0);
    value.type_name() == "number" && value.scalar().is_some_and(whole)
}

/// A value with each whole number as an integer, so that 1, 1.0 and 1e0 are equal. Floats represent integers exactly up
/// to 2⁵³.
fn canonical_numbers(value: &Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float.fract() == 0.0 && float.abs() <= EXACT => Value::from(float as i64),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(canonical_numbers).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), canonical_numbers(member))).collect()
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}
