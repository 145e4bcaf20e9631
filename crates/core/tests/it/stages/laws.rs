//! The laws of staged mutation. `POINTSMAN_CASES` sets how many stages are tried, `POINTSMAN_SEED` where they start.

use pointsman_core::definition::StagedKind;
use pointsman_core::laws::Random;
use pointsman_core::webhook::{KnownFacts, Metadata, Truth, Webhook};
use serde_json::{Value, json};

use super::chance::{FLAGS, object, operations};
use super::{as_json, becomes, definition, patch, staging};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Tries something with every pair of stages that are accepted, and objects.
fn each(law: impl Fn(&Webhook, &Value, &str)) {
    let (seed, cases) = (number("POINTSMAN_SEED", 1), number("POINTSMAN_CASES", 500));
    let mut accepted = 0;
    for seed in seed..seed + cases {
        let mut random = Random::new(seed);
        let text = definition(&operations(&mut random).to_string(), &operations(&mut random).to_string());
        if StagedKind::load("stages.yaml", &text).is_err() {
            continue;
        }
        accepted += 1;
        let webhook = staging(&text);
        for _ in 0..4 {
            let object = object(&mut random);
            law(&webhook, &object, &format!("seed {seed}\n{text}\n{object}"));
        }
    }
    assert!(cases < 100 || accepted * 2 > cases, "only {accepted} of {cases} were accepted");
}

#[test]
fn what_was_done_is_done() {
    each(|webhook, object, case| {
        for is in [Truth::False, Truth::True] {
            let once = becomes(webhook, is, object);
            let again = patch(webhook, is, &once.to_string(), None);
            assert!(again.is_empty(), "{again:?} once more\n{once}\n{case}");
        }
    });
}

/// As each stage alone.
#[test]
fn two_stages_together_are_done_once() {
    let (seed, cases) = (number("POINTSMAN_SEED", 1), number("POINTSMAN_CASES", 500));
    let mut accepted = 0;
    for seed in seed..seed + cases {
        let mut random = Random::new(seed);
        let mut list = || operations(&mut random).to_string();
        let one = definition(&list(), "[]");
        let fact = "  fact: {resource: nodes, name: x, label: y}\n";
        let text = format!("{one}- name: second\n{fact}  after: {}\n", list());
        let Ok(staged) = StagedKind::load("stages.yaml", &text) else { continue };
        accepted += 1;
        let webhook = Webhook::new(Vec::new(), Metadata::Identity).unwrap().staging(vec![staged]).unwrap();
        for (first, second) in [(Truth::False, Truth::True), (Truth::True, Truth::False), (Truth::True, Truth::True)] {
            let object = object(&mut random);
            let mut facts = KnownFacts::default();
            facts.say("moved", first);
            facts.say("second", second);
            let patch = |object: &Value| webhook.stage(&object.to_string(), None, &facts).unwrap().unwrap().unwrap().0;
            let mut made = object.clone();
            let operations: json_patch::Patch = serde_json::from_value(as_json(&patch(&object))).unwrap();
            json_patch::patch(&mut made, &operations).unwrap();
            let again = patch(&made);
            assert!(again.is_empty(), "seed {seed}: {again:?} once more\n{made}\n{text}\n{object}");
        }
    }
    assert!(cases < 100 || accepted * 10 > cases, "only {accepted} of {cases} were accepted");
}

#[test]
fn when_an_object_was_written_does_not_matter_once_the_fact_is_true() {
    each(|webhook, object, case| {
        let late = becomes(webhook, Truth::True, object);
        let early = becomes(webhook, Truth::True, &becomes(webhook, Truth::False, object));
        assert_eq!(early, late, "{case}");
    });
}

#[test]
fn an_object_that_is_going_is_left_alone() {
    each(|webhook, object, case| {
        let mut old = object.clone();
        if let Some(metadata) = old["metadata"].as_object_mut() {
            metadata.insert("deletionTimestamp".to_owned(), json!("2026-01-01T00:00:00Z"));
            let patch = patch(webhook, Truth::True, &object.to_string(), Some(&old.to_string()));
            assert!(patch.is_empty(), "{patch:?}\n{case}");
        }
    });
}

/// Where a patch may lead: nothing else is in it, so everything else keeps its bytes.
#[test]
fn nothing_else_is_touched() {
    each(|webhook, object, case| {
        for is in [Truth::False, Truth::True] {
            for operation in patch(webhook, is, &object.to_string(), None) {
                let places = [
                    "/metadata/labels",
                    "/spec/replicas",
                    "/spec/rules",
                    "/spec/strategy",
                    "/spec/x",
                    "/spec/template/spec/dnsConfig",
                    "/spec/template/spec/hostNetwork",
                    "/spec/template/spec/volumes",
                ];
                let path = operation.path.as_str();
                let container =
                    path.strip_prefix("/spec/template/spec/containers/").and_then(|rest| rest.split_once('/'));
                let of_words = container.is_some_and(|(at, rest)| {
                    at.parse::<usize>().is_ok() && (rest.starts_with("command") || rest.starts_with("args"))
                });
                // The containers of one that was spoiled may have volumes.
                let is_there = |place: &str| path.starts_with(place) || ["/metadata", "/spec"].contains(&path);
                let is_known = places.iter().any(|place| is_there(place)) || path.ends_with("/volumes");
                assert!(of_words || is_known, "{operation:?}\n{case}");
            }
        }
    });
}

/// Words that no operation names, in their order.
fn others(object: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let containers = object.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    for container in containers.into_iter().flatten() {
        all.push(json!([container.get("name"), container.get("image")]));
        for list in ["command", "args"] {
            let words = container.get(list).and_then(Value::as_array).into_iter().flatten();
            all.extend(words.filter(|word| word.as_str().is_none_or(|word| word.starts_with("--keep"))).cloned());
        }
    }
    all
}

#[test]
fn flags_that_are_not_named_keep_their_order() {
    each(|webhook, object, case| {
        for is in [Truth::False, Truth::True] {
            assert_eq!(others(&becomes(webhook, is, object)), others(object), "{case}");
        }
    });
}

/// One flag at a time, so that the law says which flag there is.
#[test]
fn a_flag_that_is_set_is_set_and_one_that_is_not_is_gone() {
    let mut random = Random::new(number("POINTSMAN_SEED", 1));
    for flag in FLAGS {
        let set = format!("[{{flag: {{of: main, name: {flag}, value: wanted}}}}]");
        let gone = format!("[{{noFlag: {{of: main, name: {flag}}}}}]");
        let webhook = staging(&definition(&set, &gone));
        for _ in 0..200 {
            let object = object(&mut random);
            let words = |object: &Value| -> Option<Vec<Value>> {
                let main = &object
                    .pointer("/spec/template/spec/containers")?
                    .as_array()?
                    .iter()
                    .find(|it| it["name"] == "main")?;
                let list = |name: &str| match &main[name] {
                    Value::Null => Some(Vec::new()),
                    list => list.as_array().cloned(),
                };
                let all = [list("command")?, list("args")?].concat();
                Some(all.into_iter().take_while(|word| word != "--").collect())
            };
            let main = object.pointer("/spec/template/spec/containers").and_then(Value::as_array);
            let main = main.and_then(|all| all.iter().find(|it| it["name"] == "main"));
            // Words behind `--` in `command` are those of another program: such a line is left alone.
            let is_of_two =
                main.and_then(|main| main["command"].as_array()).is_some_and(|all| all.contains(&json!("--")));
            if words(&object).is_none() || is_of_two {
                continue;
            }
            let is_flag = |word: &Value| {
                word.as_str()
                    .and_then(|word| word.strip_prefix(flag))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            };
            let before = words(&becomes(&webhook, Truth::False, &object)).unwrap();
            let at: Vec<usize> = (0..before.len()).filter(|at| is_flag(&before[*at])).collect();
            let [at] = at.as_slice() else { panic!("{at:?}: {before:?} of {object}") };
            let joined = before[*at] == json!(format!("{flag}=wanted"));
            assert!(joined || before.get(at + 1) == Some(&json!("wanted")), "{before:?} of {object}");
            let after = words(&becomes(&webhook, Truth::True, &object)).unwrap_or_default();
            assert!(!after.iter().any(is_flag), "{after:?} of {object}");
        }
    }
}
