//! Random mutations and objects with few words, so that they often match.

use pointsman_core::laws::Random;
use serde_json::{Value, json};

/// Flags that operations name. Other flags start with `--keep`.
pub(super) const FLAGS: [&str; 4] = ["--a", "--b", "-c", "--a-b"];
const VALUES: [&str; 5] = ["1", "true", "", "x=y", "-7"];
const KEYS: [&str; 4] = ["A", "B", "Complete", "A-B"];
const ITEMS: [&str; 3] = ["cloud", "logs", "tmp"];
const FIELDS: [&str; 6] =
    ["spec.replicas", "spec.strategy.type", "hostNetwork", "metadata.labels.role", "dnsConfig.options", "spec.x.y"];

/// Operations of one list. Some contradict each other and are refused at load.
pub(super) fn operations(random: &mut Random) -> Value {
    let count = 1 + random.below(3);
    (0..count).map(|_| operation(random)).collect()
}

fn operation(random: &mut Random) -> Value {
    let of = if random.percent(40) { json!(random.word(&["main", "side"])) } else { Value::Null };
    let mut said = match random.below(8) {
        0 if random.percent(50) => json!({"flag": {"name": random.word(&FLAGS)}}),
        0 => json!({"flag": {"name": random.word(&FLAGS), "value": random.word(&VALUES)}}),
        1 => json!({"noFlag": {"name": random.word(&FLAGS), "switch": random.percent(30)}}),
        2 => json!({"flagEntries": {"name": random.word(&FLAGS), "entries": entries(random)}}),
        3 => json!({"noFlagEntries": {"name": random.word(&FLAGS), "entries": [random.word(&KEYS)]}}),
        4 => {
            let mut item = json!({"name": random.word(&ITEMS)});
            if random.percent(70) {
                item["emptyDir"] = json!({"medium": random.word(&["", "Memory"])});
            }
            json!({"item": {"list": random.word(&["volumes", "spec.rules"]), "value": item}})
        }
        5 => json!({"noItem": {"list": random.word(&["volumes", "spec.rules"]), "value": random.word(&ITEMS)}}),
        6 => {
            let field = random.word(&FIELDS);
            let value = match random.below(3) {
                0 if !field.starts_with("metadata") => json!({"b": 1, "a": [true, null]}),
                1 if !field.starts_with("metadata") => json!(3),
                _ => json!("Recreate"),
            };
            json!({"set": {"field": field, "value": value}})
        }
        _ => json!({"unset": random.word(&FIELDS)}),
    };
    let inner = said.as_object_mut().unwrap().values_mut().next().unwrap();
    let of_pod = inner["list"] == "spec.rules" || inner["field"].is_string();
    if let (Some(inner), false, false) = (inner.as_object_mut(), of.is_null(), of_pod) {
        inner.insert("of".to_owned(), of);
    }
    said
}

fn entries(random: &mut Random) -> Value {
    if random.percent(30) {
        return json!([random.word(&KEYS)]);
    }
    let mut entries = json!({});
    for _ in 0..=random.below(2) {
        entries[random.word(&KEYS)] = json!(random.word(&["true", "false"]));
    }
    entries
}

/// A Deployment; one in three is one that an API server would reject.
pub(super) fn object(random: &mut Random) -> Value {
    let containers: Vec<Value> =
        ["main", "side"].iter().take(1 + random.below(2)).map(|name| container(name, random)).collect();
    let mut pod = json!({"containers": containers});
    if random.percent(60) {
        let volumes: Vec<Value> = (0..random.below(4))
            .map(|_| json!({"name": random.word(&ITEMS), "emptyDir": {"sizeLimit": "1Gi"}}))
            .collect();
        pod["volumes"] = json!(volumes);
    }
    let mut object = super::deployment(random.word(&["main", "other"]), &pod);
    if random.percent(50) {
        object["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}});
        object["metadata"]["labels"] = json!({"role": "x", "app": "y"});
    }
    if random.percent(33) {
        spoil(&mut object, random);
    }
    object
}

fn container(name: &str, random: &mut Random) -> Value {
    let mut container = json!({"name": name, "image": "i"});
    for list in ["command", "args"] {
        if random.percent(70) {
            let words: Vec<Value> = (0..random.below(6)).map(|_| word(random)).collect();
            container[list] = json!(words);
        }
    }
    container
}

fn word(random: &mut Random) -> Value {
    let flag = random.word(&FLAGS);
    json!(match random.below(9) {
        0 => flag.to_owned(),
        1 | 2 => format!("{flag}={}", random.word(&VALUES)),
        3 | 4 => {
            let parts: Vec<String> = (0..random.below(4))
                .map(|_| format!("{}={}", random.word(&KEYS), random.word(&["true", "false"])))
                .collect();
            format!("{flag}={}", parts.join(","))
        }
        5 => format!("--keep{}={}", random.below(3), random.word(&VALUES)),
        6 => random.word(&["server", "A=true,B=false", "1"]).to_owned(),
        7 => "--keep".to_owned(),
        _ => random.word(&["--", "-", "", "--a=\u{1F686}"]).to_owned(),
    })
}

/// Puts an invalid value into a random location.
fn spoil(object: &mut Value, random: &mut Random) {
    let mut here = object;
    for _ in 0..random.below(9) {
        let next = match here {
            Value::Object(members) if !members.is_empty() => {
                let at = random.below(members.len());
                members.values_mut().nth(at)
            }
            Value::Array(elements) if !elements.is_empty() => {
                let at = random.below(elements.len());
                elements.get_mut(at)
            }
            _ => return,
        };
        here = next.unwrap();
    }
    // The kind selects the mutations.
    if *here != "Deployment" && *here != "apps/v1" && here.get("kind").is_none() {
        let other = [json!(null), json!([]), json!({}), json!("--a"), json!(7), json!([null, {}, [], "--a=1"])];
        *here = random.pick(&other).unwrap().clone();
    }
}
