//! The laws of staged mutation. `POINTSMAN_CASES` sets how many mutations are tried, `POINTSMAN_SEED` where they start.

use pointsman_core::definition::MutatedKind;
use pointsman_core::laws::Random;
use pointsman_core::webhook::{FactValue, KnownFacts, Metadata, Webhook};
use serde_json::{Value, json};

use super::chance::{FLAGS, object, operations};
use super::{as_json, definition, patch, replaces, with_mutations};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs a law with random accepted mutations and objects.
fn each(law: impl Fn(&Webhook, &Value, &str)) {
    let (seed, cases) = (number("POINTSMAN_SEED", 1), number("POINTSMAN_CASES", 500));
    let mut accepted = 0;
    for seed in seed..seed + cases {
        let mut random = Random::new(seed);
        let text = definition(&operations(&mut random).to_string(), &operations(&mut random).to_string());
        if MutatedKind::load("mutations.yaml", &text).is_err() {
            continue;
        }
        accepted += 1;
        let webhook = with_mutations(&text);
        for _ in 0..4 {
            let object = object(&mut random);
            law(&webhook, &object, &format!("seed {seed}\n{text}\n{object}"));
        }
    }
    assert!(cases < 100 || accepted * 2 > cases, "only {accepted} of {cases} were accepted");
}

#[test]
fn mutation_is_idempotent() {
    each(|webhook, object, case| {
        for is in [FactValue::False, FactValue::True] {
            let once = replaces(webhook, is, object);
            let again = patch(webhook, is, &once.to_string(), None);
            assert!(again.is_empty(), "{again:?} once more\n{once}\n{case}");
        }
    });
}

/// Two mutations with one fact each, if both are accepted; their operations are under `after`.
fn two_mutations(random: &mut Random) -> Option<(Webhook, String)> {
    let one = definition("[]", &operations(random).to_string());
    let fact = "  fact: {resource: nodes, name: x, label: y}\n";
    let text = format!("{one}- name: second\n{fact}  onceTrue: {}\n", operations(random));
    let mutated = MutatedKind::load("mutations.yaml", &text).ok()?;
    Some((Webhook::new(Vec::new(), Metadata::Identity).unwrap().with_mutations(vec![mutated]).unwrap(), text))
}

/// The object after mutation with two facts.
fn becomes_by_two(webhook: &Webhook, first: FactValue, second: FactValue, object: &Value) -> Value {
    let mut facts = KnownFacts::default();
    facts.set("moved", first);
    facts.set("second", second);
    let patch = webhook.mutation(&object.to_string(), None, &facts).unwrap().unwrap().unwrap().0;
    let operations: json_patch::Patch = serde_json::from_value(as_json(&patch)).unwrap();
    let mut made = object.clone();
    json_patch::patch(&mut made, &operations).unwrap();
    made
}

/// All lists of an object, sorted: the words of each container as one list, with their entries.
fn unordered(value: &Value) -> Value {
    match value {
        Value::Array(all) => {
            let mut all: Vec<Value> = all.iter().map(unordered).collect();
            all.sort_by_key(Value::to_string);
            Value::Array(all)
        }
        Value::Object(members) => {
            let words = ["command", "args"].iter().filter_map(|list| members.get(*list)?.as_array()).flatten();
            let words = unordered(&words.cloned().collect());
            let others = members.iter().filter(|(name, _)| !["command", "args"].contains(&name.as_str()));
            let others = others.map(|(name, value)| (name.clone(), unordered(value)));
            others.chain([("words".to_owned(), words)]).collect()
        }
        Value::String(text) => {
            let (name, value) = text.split_once('=').unwrap_or((text.as_str(), ""));
            let mut parts: Vec<&str> = value.split(',').collect();
            parts.sort_unstable();
            json!([name, parts])
        }
        other => other.clone(),
    }
}

#[test]
fn fact_order_affects_only_additions() {
    let (seed, cases) = (number("POINTSMAN_SEED", 1), number("POINTSMAN_CASES", 500));
    let mut accepted = 0;
    for seed in seed..seed + cases {
        let mut random = Random::new(seed);
        let Some((webhook, text)) = two_mutations(&mut random) else { continue };
        accepted += 1;
        let words: Vec<&str> = (0..random.below(6))
            .map(|_| random.word(&["main", "--keep=1", "--a=1", "--b=A=true,B=false", "-c=B"]))
            .collect();
        let pod = json!({"containers": [{"name": "main", "command": ["main"], "args": words}]});
        let object = super::deployment("main", &pod);
        let both = |object: &Value| becomes_by_two(&webhook, FactValue::True, FactValue::True, object);
        let max_in_flight = unordered(&both(&object));
        for (first, second) in [(FactValue::True, FactValue::False), (FactValue::False, FactValue::True)] {
            let made = unordered(&both(&becomes_by_two(&webhook, first, second, &object)));
            assert_eq!(made, max_in_flight, "seed {seed}\n{text}\n{object}");
        }
    }
    assert!(cases < 100 || accepted * 10 > cases, "only {accepted} of {cases} were accepted");
}

/// Both mutations together equal each mutation alone.
#[test]
fn two_mutations_together_are_done_once() {
    let (seed, cases) = (number("POINTSMAN_SEED", 1), number("POINTSMAN_CASES", 500));
    let mut accepted = 0;
    for seed in seed..seed + cases {
        let mut random = Random::new(seed);
        let mut list = || operations(&mut random).to_string();
        let one = definition(&list(), "[]");
        let fact = "  fact: {resource: nodes, name: x, label: y}\n";
        let text = format!("{one}- name: second\n{fact}  onceTrue: {}\n", list());
        let Ok(mutated) = MutatedKind::load("mutations.yaml", &text) else { continue };
        accepted += 1;
        let webhook = Webhook::new(Vec::new(), Metadata::Identity).unwrap().with_mutations(vec![mutated]).unwrap();
        for (first, second) in [
            (FactValue::False, FactValue::True),
            (FactValue::True, FactValue::False),
            (FactValue::True, FactValue::True),
        ] {
            let object = object(&mut random);
            let mut facts = KnownFacts::default();
            facts.set("moved", first);
            facts.set("second", second);
            let patch =
                |object: &Value| webhook.mutation(&object.to_string(), None, &facts).unwrap().unwrap().unwrap().0;
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
fn write_time_does_not_matter() {
    each(|webhook, object, case| {
        let late = replaces(webhook, FactValue::True, object);
        let early = replaces(webhook, FactValue::True, &replaces(webhook, FactValue::False, object));
        assert_eq!(early, late, "{case}");
    });
}

#[test]
fn terminating_object_is_left_alone() {
    each(|webhook, object, case| {
        let mut old = object.clone();
        if let Some(metadata) = old["metadata"].as_object_mut() {
            metadata.insert("deletionTimestamp".to_owned(), json!("2026-01-01T00:00:00Z"));
            let patch = patch(webhook, FactValue::True, &object.to_string(), Some(&old.to_string()));
            assert!(patch.is_empty(), "{patch:?}\n{case}");
        }
    });
}

/// A patch writes only to these locations, so all other fields keep their bytes.
#[test]
fn other_fields_are_untouched() {
    each(|webhook, object, case| {
        for is in [FactValue::False, FactValue::True] {
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
                // The containers of a damaged object may contain volumes.
                let is_there = |place: &str| path.starts_with(place) || ["/metadata", "/spec"].contains(&path);
                let is_known = places.iter().any(|place| is_there(place)) || path.ends_with("/volumes");
                assert!(of_words || is_known, "{operation:?}\n{case}");
            }
        }
    });
}

/// Words without an operation, in order.
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
fn unnamed_flags_keep_order() {
    each(|webhook, object, case| {
        for is in [FactValue::False, FactValue::True] {
            assert_eq!(others(&replaces(webhook, is, object)), others(object), "{case}");
        }
    });
}

/// One flag at a time, so that the law knows the expected flag.
#[test]
fn flags_are_set_or_removed() {
    let mut random = Random::new(number("POINTSMAN_SEED", 1));
    for flag in FLAGS {
        let set = format!("[{{flag: {{of: main, name: {flag}, value: wanted}}}}]");
        let gone = format!("[{{noFlag: {{of: main, name: {flag}}}}}]");
        let webhook = with_mutations(&definition(&set, &gone));
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
            // Words after `--` in `command` belong to another program: such a command line is unchanged.
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
            let before = words(&replaces(&webhook, FactValue::False, &object)).unwrap();
            let at: Vec<usize> = (0..before.len()).filter(|at| is_flag(&before[*at])).collect();
            let [at] = at.as_slice() else { panic!("{at:?}: {before:?} of {object}") };
            let joined = before[*at] == json!(format!("{flag}=wanted"));
            assert!(joined || before.get(at + 1) == Some(&json!("wanted")), "{before:?} of {object}");
            let after = words(&replaces(&webhook, FactValue::True, &object)).unwrap_or_default();
            assert!(!after.iter().any(is_flag), "{after:?} of {object}");
        }
    }
}

/// The new flag value is effective at once, and words of other flags are kept, like in a manual edit.
#[test]
fn other_words_stay() {
    let mut random = Random::new(number("POINTSMAN_SEED", 1));
    let value = |word: &str, is_truth: bool| match is_truth {
        true => ["true", "false", "1", "0"].contains(&word),
        false => !word.starts_with('-') || word == "-" || word.as_bytes().get(1).is_some_and(u8::is_ascii_digit),
    };
    for wanted in ["wanted", "0", "1", "2", "-7", "true", "false"] {
        let webhook = with_mutations(&definition(&format!("[{{flag: {{name: --a, value: '{wanted}'}}}}]"), "[]"));
        let is_truth = ["true", "false"].contains(&wanted);
        for _ in 0..200 {
            let pick = ["--a", "--a=1", "--keep", "x", "4", "1", "true", "-", "-7", "--a=x"];
            let words: Vec<&str> = (0..random.below(6)).map(|_| random.word(&pick)).collect();
            let (mut by_hand, mut at, mut found) = (Vec::new(), 0, false);
            while let Some(word) = words.get(at) {
                let behind = words.get(at + 1).filter(|next| *word == "--a" && value(next, is_truth));
                match (word.starts_with("--a"), behind) {
                    (false, _) => by_hand.push((*word).to_owned()),
                    (true, Some(_)) if !found => by_hand.extend(["--a".to_owned(), wanted.to_owned()]),
                    (true, None) if !found => by_hand.push(format!("--a={wanted}")),
                    (true, _) => {}
                }
                found |= word.starts_with("--a");
                at += 1 + usize::from(behind.is_some());
            }
            by_hand.extend((!found).then(|| format!("--a={wanted}")));
            // If a flag in between is removed, a word may become the value of another flag: the final state counts.
            let made = replaces(&webhook, FactValue::False, &deployment_of(&words));
            let made = made["spec"]["template"]["spec"]["containers"][0]["args"].clone();
            let has_two = words.iter().filter(|word| word.starts_with("--a")).count() > 1;
            assert!(has_two || made == json!(by_hand), "--a={wanted} of {words:?}: {made}, not {by_hand:?}");
        }
    }
}

fn deployment_of(words: &[&str]) -> Value {
    super::deployment("main", &json!({"containers": [{"name": "main", "args": words}]}))
}

/// Any words before a shell, and between the shell and `-c`.
#[test]
fn a_script_is_left_alone() {
    let mut random = Random::new(number("POINTSMAN_SEED", 1));
    let webhook = with_mutations(&definition("[{flag: {name: --a, value: wanted}}, {noFlag: --b}]", "[]"));
    for _ in 0..500 {
        let before = [&[][..], &["env"], &["env", "A=b"], &["/bin/busybox"], &["nice", "-n", "5"], &["timeout", "9"]];
        let between =
            [&["-e"][..], &["+x"], &["-o", "pipefail"], &["-euo", "pipefail"], &["--rcfile", "f"], &["--login"]];
        let mut words: Vec<&str> = random.pick(&before).unwrap().to_vec();
        words.push(random.word(&["sh", "/bin/bash", "zsh", "/usr/bin/dash"]));
        for _ in 0..random.below(3) {
            words.extend_from_slice(random.pick(&between).unwrap());
        }
        words.extend([random.word(&["-c", "-ec", "-lc"]), "exec main --a=x --b", "--b"]);
        let object = deployment_of(&words);
        assert_eq!(replaces(&webhook, FactValue::False, &object), object);
    }
}

/// No two operations of one list contradict each other, in any spelling.
#[test]
fn list_entries_apply_together() {
    let (seed, cases) = (number("POINTSMAN_SEED", 1), number("POINTSMAN_CASES", 500));
    let mut accepted = 0;
    for seed in seed..seed + cases {
        let mut random = Random::new(seed);
        let list = [spelled(&mut random), spelled(&mut random)];
        let text = definition(&json!(list).to_string(), "[]");
        if MutatedKind::load("mutations.yaml", &text).is_err() {
            continue;
        }
        accepted += 1;
        let containers =
            json!([{"name": "main", "image": "i", "command": ["main"], "args": ["--x=1", "--a=0"]}, {"name": "side"}]);
        let object = super::deployment("main", &json!({"containers": containers, "hostNetwork": true}));
        let made = replaces(&with_mutations(&text), FactValue::False, &object);
        for one in &list {
            let alone = with_mutations(&definition(&json!([one]).to_string(), "[]"));
            assert_eq!(replaces(&alone, FactValue::False, &made), made, "seed {seed}: {one} is not so\n{text}");
        }
    }
    assert!(cases < 100 || (accepted * 4 > cases && accepted < cases), "{accepted} of {cases} were accepted");
}

/// An operation on one of few locations, in one of its spellings.
fn spelled(random: &mut Random) -> Value {
    let pod = random.word(&["", "spec.template.spec."]);
    let of = random.word(&["main", "side"]);
    let words = random.pick(&[json!(["--a=1"]), json!(["--b=1", "--a=2"]), json!([])]).unwrap().clone();
    match random.below(9) {
        0 => json!({"set": {"field": format!("{pod}hostNetwork"), "value": random.percent(50)}}),
        1 => json!({"unset": format!("{pod}hostNetwork")}),
        2 => json!({"set": {"of": of, "field": random.word(&["args", "command"]), "value": words}}),
        3 => json!({"item": {"list": format!("{pod}containers"), "value": {"name": of, "args": words}}}),
        4 => json!({"item": {"list": format!("{pod}containers"), "value": {"name": of, "image": "j"}}}),
        5 => json!({"flag": {"of": of, "name": random.word(&FLAGS), "value": "1"}}),
        6 => json!({"noFlag": random.word(&FLAGS)}),
        7 => json!({"set": {"field": format!("{pod}containers"), "value": [{"name": of, "args": words}]}}),
        _ => json!({"unset": {"of": of, "field": random.word(&["args", "image"])}}),
    }
}
