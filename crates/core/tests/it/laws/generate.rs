//! Values made from a CRD's own schema: what it allows, with the spellings that people and machines use.

use serde_json::Value as Schema;

use super::random::Random;
use super::schema::{clashes, flag, literal, map_values, properties, requires};
use crate::value::{Value, text};

/// How much of what a schema allows an object has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fullness {
    /// Chance of an optional field, in percent.
    pub(crate) optional: usize,
    /// Chance of a field that no schema knows.
    pub(crate) unknown: usize,
}

const UUIDS: [&str; 7] = [
    "00000000-0000-0000-0000-000000000000",
    "00000000000000000000000000000000",
    "11111111-1111-4111-8111-11111111111a",
    "11111111-1111-4111-8111-11111111111A",
    "1111111111114111811111111111111a",
    "22222222-2222-4222-8222-22222222222b",
    "5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77",
];
const TEXTS: [&str; 26] = [
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
    "-0",
    "true",
    "false",
    "1.50",
    "é😀\u{1}\"\\",
    "<&>",
    "arn:aws:iam::1:role/mz",
    "9007199254740993",
    "1e21",
    " ",
];
const INTEGERS: [&str; 10] = [
    "0",
    "1",
    "2",
    "-1",
    "80",
    "-0",
    "2147483647",
    "9007199254740993",
    "-9223372036854775808",
    "18446744073709551615",
];
const NUMBERS: [&str; 6] = ["1.0", "1e21", "1E400", "-0.0", "0.1", "12345678901234567890.5"];
const KEYS: [&str; 6] = ["a", "b", "eks.amazonaws.com/role-arn", "example.com/role", "x.y", "é"];
const REASONS: [&str; 7] = [
    "Applying",
    "ReadyToPromote",
    "Promoting",
    "Applied",
    "WaitingForApproval",
    "FailedDeploy",
    "RolloutTimeout",
];
const HASHES: [&str; 2] = [
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "32757b88cb0576b194c261380738cae622235e783724a4e2f1e84c658d3fce1b",
];

/// A value that the schema allows.
pub(crate) fn valid(random: &mut Random, schema: &Schema, name: &str, fullness: Fullness) -> Value {
    if flag(schema, "nullable") && random.percent(12) {
        return Value::Null;
    }
    if let Some(options) = schema.get("enum").and_then(Schema::as_array) {
        return literal(random.pick(options));
    }
    if schema.get("default").is_some() && random.percent(20) {
        return literal(&schema["default"]);
    }
    if flag(schema, "x-kubernetes-int-or-string") {
        return if random.percent(50) {
            Value::Number((*random.pick(&INTEGERS)).to_owned())
        } else {
            text(random.word(&TEXTS))
        };
    }
    match schema.get("type").and_then(Schema::as_str) {
        Some("object") => object(random, schema, fullness),
        Some("array") => {
            let mut elements: Vec<Value> = Vec::new();
            for _ in 0..random.below(4) {
                let element = valid(random, &schema["items"], name, fullness);
                if !clashes(schema, &elements, &element) {
                    elements.push(element);
                }
            }
            Value::List(elements)
        }
        Some("string") => string(random, schema, name),
        Some("integer") => loop {
            let number = *random.pick(&INTEGERS);
            if !(number.starts_with('-') && schema.get("minimum").is_some()) {
                break Value::Number(number.to_owned());
            }
        },
        Some("number") => {
            let all = [&INTEGERS[..], &NUMBERS[..]].concat();
            Value::Number((*random.pick(&all)).to_owned())
        }
        Some("boolean") => Value::Bool(random.percent(50)),
        _ => anything(random, 2),
    }
}

fn string(random: &mut Random, schema: &Schema, name: &str) -> Value {
    if schema.get("format").and_then(Schema::as_str) == Some("uuid") {
        return text(random.word(&UUIDS));
    }
    match name {
        "reason" => text(random.word(&REASONS)),
        _ if name.ends_with("Hash") && random.percent(70) => text(random.word(&HASHES)),
        "forcePromote" if random.percent(50) => text(random.word(&UUIDS)),
        _ => text(random.word(&TEXTS)),
    }
}

fn object(random: &mut Random, schema: &Schema, fullness: Fullness) -> Value {
    let mut made = Value::object();
    let Value::Object(members) = &mut made else {
        return made;
    };
    for (name, inner) in properties(schema) {
        if requires(schema, name) || random.percent(fullness.optional) {
            members.insert(name.clone(), valid(random, inner, name, fullness));
        }
    }
    if let Some(inner) = map_values(schema) {
        for _ in 0..random.below(4) {
            let key = *random.pick(&KEYS);
            members.insert(key.to_owned(), valid(random, inner, key, fullness));
        }
    } else if random.percent(fullness.unknown) {
        members.insert("x-unknown".to_owned(), anything(random, 2));
    }
    made
}

/// Any JSON.
pub(crate) fn anything(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Bool(random.percent(50)),
        2 => text(random.word(&TEXTS)),
        3 => text(random.word(&UUIDS)),
        4 => Value::Number((*random.pick(&[&INTEGERS[..], &NUMBERS[..]].concat())).to_owned()),
        5 => Value::List((0..random.below(3)).map(|_| anything(random, depth - 1)).collect()),
        _ => Value::Object(
            (0..random.below(3))
                .map(|_| ((*random.pick(&KEYS)).to_owned(), anything(random, depth - 1)))
                .collect(),
        ),
    }
}
