//! Rare cases for random mutations: names that are keywords or symbols of another language, numbers in all formats,
//! lists with foreign items.

use pointsman_core::laws::Random;
use serde_json::{Value, json};

/// Names of fields in path syntax.
const FIELDS: [&str; 13] = [
    "spec[\"a/b~c\"]",
    "spec[\"~1\"][\"/\"]",
    "spec.in",
    "spec.__x.namespace",
    "spec[\"a-b\"][\"c.d\"]",
    "spec[\"$x\"]",
    "spec[\"{{ y }}\"]",
    "spec[\"ü€\"]",
    "spec[\"\\\"q\\\\\"]",
    "spec[\"\u{a0}\u{200b}\u{feff}\u{2028}\"]",
    "metadata.annotations[\"example.com/a.b_c-d\"]",
    "metadata.labels[\"example.com/x\"]",
    "spec.template.metadata.annotations.a",
];
const TEXTS: [&str; 12] = [
    "",
    "$(X) ${Y}",
    "a,b=\"c\"\\",
    "{{ .x }}",
    "ü\u{1F686}\u{2028}",
    "two\nlines\t\r",
    "\u{0}\u{1b}\u{7f}",
    "'it''s'",
    "<&>",
    "null",
    "1e3",
    " , A=1 ,",
];

/// An operation; conflicting operations are refused at load.
pub(crate) fn operation(random: &mut Random) -> Value {
    let text = |random: &mut Random| random.word(&TEXTS);
    match random.below(9) {
        0 | 1 => {
            let field = random.word(&FIELDS);
            let value = if field.starts_with("spec[") || field.starts_with("spec.in") || field.contains("__x") {
                any(random, 0)
            } else {
                json!(random.word(&["x", "y.z", "1"]))
            };
            json!({"set": {"field": field, "value": value}})
        }
        2 => json!({"unset": random.word(&FIELDS)}),
        3 => {
            let mut value = json!({"id": id(random)});
            for _ in 0..random.below(3) {
                value[random.word(&["a/b", "in", "nested", "~", "n"])] = any(random, 0);
            }
            json!({"item": {"list": random.word(&["spec.list", "spec.rules"]), "key": "id", "value": value}})
        }
        4 => json!({"noItem": {"list": random.word(&["spec.list", "spec.rules"]), "key": "id", "value": id(random)}}),
        5 => json!({"flag": {"of": container(random), "name": "--n", "value": text(random)}}),
        6 => {
            json!({"flagEntries": {"of": container(random), "name": "--g", "entries": {"A/b~": "x=\"\\", "ü": "", "in": 1}}})
        }
        7 => {
            json!({"noFlagEntries": {"of": container(random), "name": random.word(&["--g", "--n"]), "entries": ["b=".trim_end_matches('='), "C\"", "ü\\"]}})
        }
        _ => json!({"set": {"of": container(random), "field": "securityContext.runAsUser", "value": random.below(3)}}),
    }
}

fn container(random: &mut Random) -> &'static str {
    random.word(&["main", "side", "init"])
}

fn id(random: &mut Random) -> Value {
    random
        .pick(&[json!(1), json!(2), json!("1"), json!(true), json!(1.5), json!("ü\"\\"), json!(-0.5)])
        .unwrap()
        .clone()
}

fn any(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 2 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => json!(random.percent(50)),
        2 => random
            .pick(&[
                json!(0),
                json!(-7),
                json!(1.5),
                json!(2.0),
                json!(1e-7),
                json!(9007199254740991_i64),
                json!(-9007199254740991_i64),
            ])
            .unwrap()
            .clone(),
        3..6 => json!(random.word(&TEXTS)),
        6 => (0..random.below(3)).map(|_| any(random, depth + 1)).collect(),
        _ => {
            let mut all = json!({});
            for _ in 0..random.below(3) {
                all[random.word(&["a/b", "in", "nested", "~", "n", ""])] = any(random, depth + 1);
            }
            all
        }
    }
}

/// Inserts some of these cases into an object.
pub(crate) fn spoil(object: &mut Value, random: &mut Random) {
    if let Some(spec) = object["spec"].as_object_mut() {
        for name in ["a/b~c", "~1", "in", "__x", "a-b", "$x", "list", "rules", "\"q\\"] {
            if random.percent(20) {
                let value = match name {
                    "list" | "rules" => (0..random.below(4)).map(|_| element(random)).collect(),
                    _ => any(random, 0),
                };
                spec.insert(name.to_owned(), value);
            }
        }
    }
    if let Some(pod) = object.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut)
        && random.percent(40)
    {
        let name = random.word(&["init", "main", "side"]);
        pod.insert(
            "initContainers".to_owned(),
            json!([{"name": name, "args": ["--n=1", "--a", "--g=A,B"]}, {"name": "init"}]),
        );
        if random.percent(20) {
            pod.remove("containers");
        }
    }
    if random.percent(20)
        && let Some(template) = object.pointer_mut("/spec/template").and_then(Value::as_object_mut)
    {
        template
            .insert("metadata".to_owned(), if random.percent(50) { json!({"annotations": null}) } else { json!({}) });
    }
    let containers = object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        for list in ["command", "args"] {
            let Some(words) = container.get_mut(list).and_then(Value::as_array_mut) else { continue };
            if random.percent(50) {
                let word = word(random);
                words.insert(random.below(words.len() + 1), word);
            }
        }
    }
}

fn element(random: &mut Random) -> Value {
    match random.below(6) {
        0 => any(random, 0),
        _ => {
            let mut element = json!({"id": id(random)});
            if random.percent(50) {
                element[random.word(&["a/b", "in", "nested", "~", "n"])] = any(random, 0);
            }
            element
        }
    }
}

fn word(random: &mut Random) -> Value {
    match random.below(10) {
        0 => random
            .pick(&[
                json!(9007199254740993_i64),
                json!(null),
                json!(1.5),
                json!({"a": 9007199254740993_i64}),
                json!([]),
            ])
            .unwrap()
            .clone(),
        1 => json!(random.word(&["+/bin/sh", "+/bin/su", "/bin/sh", "-\0", "+x/bash", "-c", "+c"])),
        2 | 3 => json!(format!("--n={}", random.word(&TEXTS))),
        4 => json!("--n"),
        5 | 6 => json!(format!("--g={}", random.word(&TEXTS))),
        7 => json!("--g"),
        _ => json!(random.word(&TEXTS)),
    }
}
