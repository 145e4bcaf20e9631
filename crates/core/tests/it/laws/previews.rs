use pointsman_core::laws::{Value, preview};

use super::{objects, trips};
use crate::kinds::WEBHOOK;

#[test]
fn built_in_kinds_preview_clean() {
    for trip in trips() {
        for seed in 0..20 {
            let object = objects::pruned(&trip, seed);
            let seen = preview(&WEBHOOK, trip.kind, &object, trip.to).unwrap();
            assert_eq!((&seen.refused, &seen.invalid), (&None, &None), "{}: {}", trip.name(), object.to_text());
            assert!(seen.differences.is_empty(), "{}: {:?}", trip.name(), seen.differences);
        }
    }
}

#[test]
fn schema_violation_names_its_place() {
    let trip = trips().into_iter().find(|trip| trip.kind.name() == "materialize" && trip.down).unwrap();
    let mut object = objects::complete(&trip, 0);
    object.set("spec.podLabels", Value::literal(&serde_json::json!({"a": 5})));
    let seen = preview(&WEBHOOK, trip.kind, &object, trip.to).unwrap();
    assert_eq!(seen.invalid.unwrap().path, "/spec/podLabels/a");
    assert!(preview(&WEBHOOK, trip.kind, &object, "v7").is_none());
}
