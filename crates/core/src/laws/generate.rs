//! Values made from a CRD's own schema: what it allows, with the spellings that people and machines use.

use std::collections::BTreeMap;

use serde_json::Value as Schema;

use super::apiserver::invalid;
use super::random::Random;
use super::schema::{bound, clashes, flag, map_values, preserves, properties, requires};
use super::value::Value;

/// How much of what a schema allows an object has, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Fullness {
    /// Chance of an optional field.
    pub optional: usize,
    /// Chance of a field that no schema knows.
    pub unknown: usize,
}

/// Strings that fields of a name are given before others: reasons, hashes, whatever the kind's readers compare with.
#[derive(Clone, Debug, Default)]
pub struct Words(pub BTreeMap<String, Vec<String>>);

const UUIDS: [&str; 7] = [
    "00000000-0000-0000-0000-000000000000",
    "00000000000000000000000000000000",
    "11111111-1111-4111-8111-11111111111a",
    "11111111-1111-4111-8111-11111111111A",
    "1111111111114111811111111111111a",
    "22222222-2222-4222-8222-22222222222b",
    "5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77",
];
const TEXTS: [&str; 28] = [
    "",
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
/// A number that is JSON and that Go cannot decode.
const ENDLESS: &str = "1E400";
const KEYS: [&str; 6] = ["a", "b", "eks.amazonaws.com/role-arn", "example.com/role", "x.y", "é"];

/// A value that the schema allows, as far as it can be told. `name` is that of the field.
pub fn valid(random: &mut Random, schema: &Schema, name: &str, fullness: Fullness, words: &Words) -> Value {
    for _ in 0..8 {
        let value = any_valid(random, schema, name, fullness, words);
        if !value.is_empty() && invalid(schema, &value, "").is_none() || value.is_empty() {
            return value;
        }
    }
    any_valid(random, schema, name, fullness, words)
}

fn any_valid(random: &mut Random, schema: &Schema, name: &str, fullness: Fullness, words: &Words) -> Value {
    // Whether null is one of the options of a nullable field has to be said among them.
    if flag(schema, "nullable") && schema.get("enum").is_none() && random.percent(12) {
        return Value::Null;
    }
    if let Some(options) = schema.get("enum").and_then(Schema::as_array) {
        return random.pick(options).map_or(Value::Null, Value::literal);
    }
    if let Some(default) = schema.get("default")
        && random.percent(20)
    {
        return Value::literal(default);
    }
    if flag(schema, "x-kubernetes-int-or-string") {
        return if random.percent(50) {
            Value::Number(random.word(&INTEGERS).to_owned())
        } else {
            Value::text(random.word(&TEXTS))
        };
    }
    match schema.get("type").and_then(Schema::as_str) {
        Some("object") => object(random, schema, fullness, words),
        Some("array") => list(random, schema, name, fullness, words),
        Some("string") => string(random, schema, name, words),
        Some("integer") => Value::Number(number(random, schema, &INTEGERS)),
        Some("number") => Value::Number(number(random, schema, &[&INTEGERS[..], &NUMBERS].concat())),
        Some("boolean") => Value::Bool(random.percent(50)),
        _ => anything(random, 2),
    }
}

fn list(random: &mut Random, schema: &Schema, name: &str, fullness: Fullness, words: &Words) -> Value {
    let limit = |name| bound(schema, name).map(|bound| bound as usize);
    let least = limit("minItems").unwrap_or_default();
    let most = limit("maxItems").unwrap_or(least + 3).max(least);
    let mut elements: Vec<Value> = Vec::new();
    let Some(items) = schema.get("items") else { return Value::List(elements) };
    for _ in 0..least + random.below(most - least + 1) {
        let mut element = valid(random, items, name, fullness, words);
        resemble(random, &elements, &mut element);
        if !clashes(schema, &elements, &element) {
            elements.push(element);
        }
    }
    Value::List(elements)
}

/// Lets an item say the same as one before it in one of its fields: names repeat where nothing forbids it.
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
    // The bound itself is always a good one to try.
    let edges: Vec<f64> = [least, most].into_iter().flatten().collect();
    random.pick(&edges).map_or_else(|| "0".to_owned(), f64::to_string)
}

fn string(random: &mut Random, schema: &Schema, name: &str, words: &Words) -> Value {
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
        text.push_str(&"x".repeat(missing));
    }
    if let Some(most) = bound(schema, "maxLength") {
        text = text.chars().take(most as usize).collect();
    }
    Value::Text(text)
}

fn object(random: &mut Random, schema: &Schema, fullness: Fullness, words: &Words) -> Value {
    let mut members = BTreeMap::new();
    for (name, inner) in properties(schema) {
        if requires(schema, name) || random.percent(fullness.optional) {
            members.insert(name.clone(), valid(random, inner, name, fullness, words));
        }
    }
    if let Some(inner) = map_values(schema) {
        for _ in 0..random.below(4) {
            let key = random.word(&KEYS);
            members.insert(key.to_owned(), valid(random, inner, key, fullness, words));
        }
    } else if preserves(schema) && random.percent(40) || random.percent(fullness.unknown) {
        members.insert("x-unknown".to_owned(), anything(random, 2));
    }
    Value::Object(members)
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
