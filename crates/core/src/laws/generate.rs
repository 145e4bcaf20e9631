//! Generates values from a CRD's own schema, with spellings that people and programs use.

use std::collections::BTreeMap;

use serde_json::Value as Schema;

use super::apiserver::{invalid, invalid_itself};
use super::focus::Focus;
use super::random::Random;
use super::schema::{bound, clashes, fields, flag, map_values, preserves, properties, required, requires};
use super::value::Value;

/// The proportion of optional content in an object, in percent.
#[derive(Clone, Copy, Debug)]
pub struct FillRatio {
    /// The chance of an optional field.
    pub optional: usize,
    /// The chance of an unknown field.
    pub unknown: usize,
}

/// Strings that fields of some names receive first: reasons, hashes, and other values that readers of the kind compare.
#[derive(Clone, Debug, Default)]
pub struct Dictionary(pub BTreeMap<String, Vec<String>>);

const UUIDS: [&str; 7] = [
    "00000000-0000-0000-0000-000000000000",
    "00000000000000000000000000000000",
    "11111111-1111-4111-8111-11111111111a",
    "11111111-1111-4111-8111-11111111111A",
    "1111111111114111811111111111111a",
    "22222222-2222-4222-8222-22222222222b",
    "5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77",
];
const TEXTS: [&str; 31] = [
    "",
    "5m",
    "1h0m0s",
    "-1.5s",
    "a",
    "b",
    "-",
    "none",
    "null",
    "a:1",
    "b:080",
    "[::1]:80",
    ":",
    "a:",
    ":7",
    "a:b",
    "x:y:3",
    "1",
    "007",
    "80",
    "-0",
    "true",
    "false",
    "1.10",
    "1.50",
    "é😀\u{1}\"\\",
    "<&>",
    "arn:aws:iam::1:role/mz",
    "9007199254740993",
    "1e21",
    " ",
];
const INTEGERS: [&str; 10] =
    ["0", "1", "2", "-1", "80", "-0", "2147483647", "9007199254740993", "-9223372036854775808", "18446744073709551615"];
const NUMBERS: [&str; 6] = ["1.0", "1e21", "0.50", "-0.0", "0.1", "12345678901234567890.5"];
/// A number that is valid JSON but that Go cannot decode.
const ENDLESS: &str = "1E400";
const KEYS: [&str; 6] = ["a", "b", "eks.amazonaws.com/role-arn", "example.com/role", "x.y", "é"];

/// The number of schema fields above which objects contain only a part of them. Otherwise each conversion would take
/// long, mostly for copied fields.
const LARGE: usize = 1_000;
/// The maximum number of values without an operation in an object of a large schema.
const ROOM: usize = 400;
/// The maximum number of fields without an operation in one object of a large schema.
const CARRIED: usize = 3;
/// The minimum chance of a field with an operation in a large schema, in percent.
const FOCUSED: usize = 75;
/// The chance that a value without a schema has the fields of operations, in percent.
const KNOWN: usize = 85;
/// The maximum number of list elements beyond the required ones.
const MORE_ELEMENTS: usize = 8;
/// The maximum number of padding characters for a required length.
const PADDING: usize = 64 * 1024;

/// A value that the schema allows, as far as it can be determined. `name` is the name of the field.
pub fn valid(random: &mut Random, schema: &Schema, name: &str, fullness: FillRatio, words: &Dictionary) -> Value {
    Maker::new(random, schema, fullness, words).valid(schema, name, None)
}

/// Like `valid`, with more fields of operations and fewer copied fields if the schema is large.
pub(super) fn focused(
    random: &mut Random,
    schema: &Schema,
    fullness: FillRatio,
    words: &Dictionary,
    focus: &Focus,
) -> Value {
    Maker::new(random, schema, fullness, words).valid(schema, "", Some(focus))
}

/// Generates the values of one object.
struct Maker<'m> {
    random: &'m mut Random,
    fullness: FillRatio,
    words: &'m Dictionary,
    /// The remaining number of values. `None` for a small schema.
    room: Option<usize>,
}

impl<'m> Maker<'m> {
    fn new(random: &'m mut Random, schema: &Schema, fullness: FillRatio, words: &'m Dictionary) -> Self {
        let room = (fields(schema, LARGE) == LARGE).then_some(ROOM);
        Self { random, fullness, words, room }
    }

    /// `focus` are the nested fields with operations, if any.
    fn valid(&mut self, schema: &Schema, name: &str, focus: Option<&Focus>) -> Value {
        if let Some(room) = &mut self.room {
            *room = room.saturating_sub(1);
        }
        for _ in 0..8 {
            let value = self.any_valid(schema, name, focus);
            // Nested values were generated with the same checks.
            if value.is_empty() || invalid_itself(schema, &value).is_none() {
                return value;
            }
        }
        self.any_valid(schema, name, focus)
    }

    fn any_valid(&mut self, schema: &Schema, name: &str, focus: Option<&Focus>) -> Value {
        // The API server does not accept null as an option, even if it is listed.
        if flag(schema, "nullable") && schema.get("enum").is_none() && self.random.percent(12) {
            return Value::Null;
        }
        if let Some(options) = schema.get("enum").and_then(Schema::as_array) {
            let options: Vec<_> = options.iter().filter(|option| !option.is_null()).collect();
            return self.random.pick(&options).map_or(Value::Null, |option| Value::literal(option));
        }
        if let Some(default) = schema.get("default")
            && self.random.percent(20)
        {
            return Value::literal(default);
        }
        let random = &mut *self.random;
        if flag(schema, "x-kubernetes-int-or-string") {
            return if random.percent(50) {
                Value::Number(random.word(&INTEGERS).to_owned())
            } else {
                Value::text(random.word(&TEXTS))
            };
        }
        match schema.get("type").and_then(Schema::as_str) {
            Some("object") => self.object(schema, focus),
            Some("array") => self.list(schema, name, focus),
            Some("string") => string(random, schema, name, self.words),
            Some("integer") => Value::Number(number(random, schema, &INTEGERS)),
            Some("number") => Value::Number(number(random, schema, &[&INTEGERS[..], &NUMBERS].concat())),
            Some("boolean") => Value::Bool(random.percent(50)),
            _ => self.schemaless(name, focus),
        }
    }

    /// A value without a schema, mostly with the fields of operations.
    fn schemaless(&mut self, name: &str, focus: Option<&Focus>) -> Value {
        let Some(focus) = focus.filter(|_| self.random.percent(KNOWN)) else { return anything(self.random, 2) };
        if let Some(items) = focus.items() {
            return Value::List((0..self.random.below(4)).map(|_| self.schemaless("", Some(items))).collect());
        }
        if focus.names().is_empty() {
            return match self.words.0.get(name) {
                Some(words) if self.random.percent(50) => {
                    self.random.pick(words).map_or(Value::Null, |w| Value::text(w))
                }
                _ => anything(self.random, 1),
            };
        }
        let mut members = BTreeMap::new();
        self.add_schemaless(focus, &mut members);
        if self.random.percent(self.fullness.unknown) {
            members.insert("x-unknown".to_owned(), anything(self.random, 2));
        }
        Value::Object(members)
    }

    /// Adds fields of operations that have no schema.
    fn add_schemaless(&mut self, focus: &Focus, members: &mut BTreeMap<String, Value>) {
        for name in focus.names() {
            if !members.contains_key(name) && self.random.percent(self.fullness.optional) {
                let value = self.schemaless(name, focus.member(name));
                members.insert(name.to_owned(), value);
            }
        }
    }

    fn list(&mut self, schema: &Schema, name: &str, focus: Option<&Focus>) -> Value {
        let limit = |name| bound(schema, name).map(|bound| bound as usize);
        let least = limit("minItems").unwrap_or_default();
        let more = if self.room.is_some() && focus.is_none() { 1 } else { MORE_ELEMENTS };
        let most = limit("maxItems").unwrap_or(least + 3).min(least + more).max(least);
        let mut elements: Vec<Value> = Vec::new();
        let Some(items) = schema.get("items") else { return Value::List(elements) };
        let focus = focus.and_then(Focus::items);
        for _ in 0..least + self.random.below(most - least + 1) {
            let mut element = self.valid(items, name, focus);
            resemble(self.random, &elements, &mut element);
            if !clashes(schema, &elements, &element) {
                elements.push(element);
            }
        }
        Value::List(elements)
    }

    fn object(&mut self, schema: &Schema, focus: Option<&Focus>) -> Value {
        let mut members = BTreeMap::new();
        let carried = match self.room {
            Some(_) => (100 * CARRIED / properties(schema).count().max(1)).min(self.fullness.optional),
            None => self.fullness.optional,
        };
        for (name, inner) in properties(schema) {
            let focus = focus.and_then(|focus| focus.member(name));
            let chance = match (focus, self.room) {
                (_, None) => self.fullness.optional,
                (Some(_), _) => self.fullness.optional.max(FOCUSED),
                (None, Some(0)) => 0,
                (None, Some(_)) => carried,
            };
            let required = requires(schema, name);
            if !required && !self.random.percent(chance) {
                continue;
            }
            let value = self.valid(inner, name, focus);
            // The value would make the object invalid, and is optional.
            if required || invalid(inner, &value, "").is_none() {
                members.insert(name.clone(), value);
            }
        }
        let fullness = self.fullness;
        if let Some(inner) = map_values(schema) {
            for name in required(schema) {
                let value = self.valid(inner, name, focus.and_then(|focus| focus.member(name)));
                members.insert(name.to_owned(), value);
            }
            // Uses keys of the definition among others.
            let named = focus.map(Focus::names).unwrap_or_default();
            for _ in 0..self.random.below(4) {
                let is_named = !named.is_empty() && self.random.percent(40);
                let key = if is_named { self.random.pick(&named).copied() } else { None };
                let key = key.unwrap_or_else(|| self.random.word(&KEYS));
                let value = self.valid(inner, key, focus.and_then(|focus| focus.member(key)));
                members.insert(key.to_owned(), value);
            }
            return Value::Object(members);
        }
        if preserves(schema)
            && let Some(focus) = focus
        {
            self.add_schemaless(focus, &mut members);
        }
        if preserves(schema) {
            for name in required(schema) {
                members.entry(name.to_owned()).or_insert_with(|| anything(self.random, 1));
            }
        }
        if preserves(schema) && self.random.percent(40) || self.random.percent(fullness.unknown) {
            members.insert("x-unknown".to_owned(), anything(self.random, 2));
        }
        Value::Object(members)
    }
}

/// Copies a field of an earlier item, because names may repeat.
fn resemble(random: &mut Random, before: &[Value], element: &mut Value) {
    if let (Some(Value::Object(other)), Value::Object(members)) = (random.pick(before), element)
        && random.percent(30)
        && let Some(name) = random.pick(&other.keys().collect::<Vec<_>>())
        && let (Some(value), Some(place)) = (other.get(*name), members.get_mut(*name))
    {
        *place = value.clone();
    }
}

fn number(random: &mut Random, schema: &Schema, from: &[&'static str]) -> String {
    let (least, most) = (bound(schema, "minimum"), bound(schema, "maximum"));
    for _ in 0..6 {
        let number = random.word(from);
        let size: f64 = number.parse().unwrap_or_default();
        if least.is_none_or(|least| size >= least) && most.is_none_or(|most| size <= most) {
            return number.to_owned();
        }
    }
    // Always tries the bound itself.
    let edges: Vec<f64> = [least, most].into_iter().flatten().collect();
    random.pick(&edges).map_or_else(|| "0".to_owned(), f64::to_string)
}

fn string(random: &mut Random, schema: &Schema, name: &str, words: &Dictionary) -> Value {
    if schema.get("format").and_then(Schema::as_str) == Some("uuid") {
        return Value::text(random.word(&UUIDS));
    }
    if let Some(words) = words.0.get(name)
        && random.percent(70)
        && let Some(word) = random.pick(words)
    {
        return Value::text(word);
    }
    let mut text = random.word(&TEXTS).to_owned();
    if let Some(least) = bound(schema, "minLength") {
        let missing = (least as usize).saturating_sub(text.chars().count());
        text.push_str(&"x".repeat(missing.min(PADDING)));
    }
    if let Some(most) = bound(schema, "maxLength") {
        text = text.chars().take(most as usize).collect();
    }
    Value::Text(text)
}

/// Any JSON.
pub fn anything(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Bool(random.percent(50)),
        2 => Value::text(random.word(&TEXTS)),
        3 => Value::text(random.word(&UUIDS)),
        4 => {
            let all = [&INTEGERS[..], &NUMBERS, &[ENDLESS]].concat();
            Value::Number(random.word(&all).to_owned())
        }
        5 => Value::List((0..random.below(3)).map(|_| anything(random, depth - 1)).collect()),
        _ => Value::Object(
            (0..random.below(3)).map(|_| (random.word(&KEYS).to_owned(), anything(random, depth - 1))).collect(),
        ),
    }
}
