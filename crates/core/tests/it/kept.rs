//! The kept format as it lives in users' clusters: every form that was ever written is read for ever.
//!
//! A file in `tests/data/kept` is an object with an annotation, the version it is converted to, and what it becomes
//! there. A file is never changed or removed once it was released; `POINTSMAN_BLESS=1` writes `becomes` into one that
//! has none.

use std::path::Path;

use serde_json::Value;

use crate::kinds::WEBHOOK;

#[test]
fn every_form_ever_written_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kept");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut members = std::collections::BTreeSet::new();
    for file in files {
        let name = file.display();
        let mut case: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let to = case["to"].as_str().unwrap().to_owned();
        let converted =
            WEBHOOK.convert(&case["object"].to_string(), &to).unwrap_or_else(|error| panic!("{name}: {error}"));
        let becomes: Value = serde_json::from_str(&converted.text).unwrap();
        if std::env::var_os("POINTSMAN_BLESS").is_some() && case["becomes"].is_null() {
            case["becomes"] = becomes.clone();
            std::fs::write(&file, serde_json::to_string_pretty(&case).unwrap() + "\n").unwrap();
        }
        assert_eq!(case["becomes"], becomes, "{name}");
        let annotation = &case["object"]["metadata"]["annotations"][format!("pointsman.dev/kept-{to}")];
        let annotation: Value = serde_json::from_str(annotation.as_str().unwrap()).unwrap_or_default();
        members.extend(names(&annotation).map(str::to_owned));
        members.extend(names(&annotation["rollout"]).map(|name| format!("rollout.{name}")));
        for (_, entry) in annotation["fields"].as_object().into_iter().flatten() {
            members.extend(names(entry).map(|name| format!("fields.{name}")));
            members.extend(names(&entry["each"]).map(|name| format!("each.{name}")));
        }
    }
    let all = [
        "annotations",
        "each.count",
        "each.items",
        "each.omitted",
        "fields",
        "fields.became",
        "fields.digest",
        "fields.each",
        "fields.rest",
        "fields.seen",
        "fields.value",
        "fields.was",
        "rollout",
        "rollout.absent",
        "rollout.at",
        "rollout.completed",
        "rollout.request",
        "rollout.returned",
        "sparse",
    ];
    assert!(all.iter().all(|member| members.contains(*member)), "only {members:?} are shown");
}

/// The names of the members of an object; none of anything else.
fn names(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flat_map(|members| members.keys().map(String::as_str))
}
