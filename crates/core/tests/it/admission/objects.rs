//! Objects generated from a CRD's own schema, deterministic per seed.

use pointsman_core::definition::Kind;
use serde_json::{Map, Value, json};

/// A generator of pseudo-random numbers (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.next() % 100 < chance
    }

    pub(super) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[usize::try_from(self.next() % from.len() as u64).unwrap()]
    }

    fn uuid(&mut self) -> String {
        let uuid = uuid::Uuid::from_u64_pair(self.next(), self.next());
        match self.next() % 4 {
            0 => "00000000-0000-0000-0000-000000000000".to_owned(),
            1 => uuid.to_string().to_uppercase(),
            2 => uuid.simple().to_string(),
            _ => uuid.to_string(),
        }
    }
}

/// Number of objects per law.
pub(super) fn cases(least: u64) -> u64 {
    std::env::var("POINTSMAN_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(least)
}

/// An object of a kind in one version, complete or not; valid for its schema if its spec is present.
pub(super) fn object(kind: &Kind, version: &str, random: &mut Random) -> Value {
    let versions = kind.crd()["spec"]["versions"].as_array().unwrap();
    let found = versions.iter().find(|found| found["name"] == version).unwrap();
    let schema = &found["schema"]["openAPIV3Schema"];
    let mut object = json!({
        "apiVersion": format!("{}/{version}", kind.group()),
        "kind": kind.kind(),
        "metadata": {"name": "thing", "namespace": "default", "uid": "83a0790a-37f8-437d-9544-1cdfe99b86af"},
    });
    let members = object.as_object_mut().unwrap();
    if random.percent(97) {
        members.insert("spec".to_owned(), value(&schema["properties"]["spec"], random, 0));
    }
    if random.percent(60) {
        members.insert("status".to_owned(), value(&schema["properties"]["status"], random, 0));
    }
    object
}

fn value(schema: &Value, random: &mut Random, depth: u64) -> Value {
    if schema["nullable"] == true && random.percent(15) {
        return Value::Null;
    }
    if let Some(options) = schema["enum"].as_array() {
        return random.pick(options).clone();
    }
    if let Some(default) = schema.get("default")
        && random.percent(40)
    {
        return default.clone();
    }
    match schema["type"].as_str() {
        Some("object") => Value::Object(members(schema, random, depth)),
        Some("array") => {
            let items = random.next() % 3;
            (0..items).map(|_| value(&schema["items"], random, depth + 1)).collect()
        }
        Some("boolean") => json!(random.percent(50)),
        Some("integer") => {
            json!(schema["minimum"].as_i64().unwrap_or_default() + i64::try_from(random.next() % 7).unwrap())
        }
        Some("number") => json!(1.5),
        Some("string") => match schema["format"].as_str() {
            Some("uuid") => json!(random.uuid()),
            Some("date-time") => json!("2026-11-20T10:36:38Z"),
            _ => json!(random.pick(&["", "x", "24h", "v26.1.0", "a/b:v26.1.0", "überall \u{1F682}", "\"q\"\\"])),
        },
        _ => json!(random.pick(&["500m", "2"])),
    }
}

fn members(schema: &Value, random: &mut Random, depth: u64) -> Map<String, Value> {
    let mut members = Map::new();
    if let Some(each) = schema.get("additionalProperties").filter(|each| each.is_object()) {
        for key in ["app", "a.b/c~d", "x y"] {
            if random.percent(40) {
                members.insert(key.to_owned(), value(each, random, depth + 1));
            }
        }
    }
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let needed = required.iter().any(|required| required == name);
        let chance = match (needed, property.get("default")) {
            (true, _) => 97,
            (false, Some(_)) => 85,
            (false, None) => 35 / (depth + 1),
        };
        if random.percent(chance) {
            members.insert(name.clone(), value(property, random, depth + 1));
        }
    }
    members
}
