//! The fixtures: their round trips, and the decided result of each.

use crate::kinds::{WEBHOOK, convert, data};
use crate::value::{Value, Written, difference};

/// The names of the fixtures: every file in `tests/data/fixtures`.
fn all() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fixtures");
    let files = std::fs::read_dir(folder).unwrap();
    let name = |file: std::io::Result<std::fs::DirEntry>| {
        let file = file.unwrap().file_name().into_string().unwrap();
        file.strip_suffix(".yaml").map(str::to_owned)
    };
    let mut names: Vec<String> = files.filter_map(name).collect();
    names.sort();
    assert!(names.len() >= 18, "{names:?}");
    names
}

fn fixture(name: &str) -> Value {
    Value::yaml(&data(&format!("fixtures/{name}.yaml")))
}

fn other(object: &Value) -> (&'static str, &'static str) {
    match object.get("apiVersion").and_then(Value::as_str) {
        Some("materialize.cloud/v1alpha1") => ("v1alpha1", "v1alpha2"),
        _ => ("v1alpha2", "v1alpha1"),
    }
}

#[test]
fn fixtures_survive_the_round_trip() {
    for name in all() {
        let mut object = fixture(&name);
        let (from, to) = other(&object);
        if object.field("spec.backendSecretName").is_some() {
            // The object as the API server sends it.
            crate::laws::schema::fill(crate::kinds::schema(crate::kinds::kind("materialize"), from), &mut object);
        }
        let there = convert(&object, to).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut home = convert(&there, from).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut expected = object.clone();
        if expected.get("metadata").is_none() {
            expected.set("metadata", Value::object());
        }
        for carried in ["status.lastCompletedRolloutHash", "status.requestedRolloutHash"] {
            if from == "v1alpha1" && object.field(carried).is_none() {
                home.take(carried);
            }
        }
        if let Some(Value::Object(annotations)) = home.at_mut(&crate::value::way("metadata.annotations")) {
            annotations.retain(|name, _| !name.starts_with("pointsman.dev/"));
            if annotations.is_empty() && object.field("metadata.annotations").is_none() {
                home.take("metadata.annotations");
            }
        }
        assert_eq!(difference(&expected, &home), None, "{name}");
        let hash = |object: &Value| WEBHOOK.preimage(&object.to_text()).unwrap().hash();
        assert_eq!(hash(&object), hash(&there), "{name}");
    }
}

/// The converted form of each fixture as a file: `tests/data/fixtures/converted/helm-sample.json` and so on. Rewritten
/// with `POINTSMAN_BLESS=1`.
#[test]
fn fixtures_convert_as_decided() {
    for name in all() {
        let object = fixture(&name);
        let there = convert(&object, other(&object).1).unwrap();
        let path = format!("{}/../../tests/data/fixtures/converted/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let value: serde_json::Value = serde_json::from_str(&there.to_text()).unwrap();
        let text = serde_json::to_string_pretty(&value).unwrap() + "\n";
        if std::env::var_os("POINTSMAN_BLESS").is_some() {
            std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&path).unwrap_or_default(), "{name}");
    }
}
