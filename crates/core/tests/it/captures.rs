//! Recorded requests of real API servers, answered with the definition of the requested kind.

use pointsman_core::webhook::{Endpoint, Outcome, Request};
use serde_json::Value;

use crate::contract::accepted_by_apiserver;
use crate::kinds::{WEBHOOK, data};

/// The converted parts of an object: of its metadata only labels and annotations, without those of pointsman.
fn essence(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].take();
    let map = |name: &str| {
        let mut map = metadata.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        map.retain(|name, _| !name.starts_with("pointsman.dev/kept-"));
        map
    };
    object["metadata"] = serde_json::json!({"labels": map("labels"), "annotations": map("annotations")});
    object
}

#[test]
fn recorded_conversions_are_answered_alike() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/captures");
    let (mut reviews, mut objects, mut partial, mut beta) = (0, 0, 0, 0);
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()) {
        if !file.ends_with(".json") {
            continue;
        }
        let calls: Vec<Value> = serde_json::from_str(&data(&format!("captures/{file}"))).unwrap();
        for call in calls.iter().filter(|call| call["path"].as_str().unwrap().starts_with("/convert")) {
            let (request, recorded) = (&call["request"], &call["response"]);
            if recorded["response"]["result"]["status"] != "Success" {
                continue;
            }
            let reply = WEBHOOK.handle(&Request::new(Endpoint::Convert, request.to_string().as_bytes())).unwrap();
            assert_eq!(reply.outcome, Outcome::Convert, "{file}: {:?}", reply.message);
            let converted =
                accepted_by_apiserver(request, &reply.body).unwrap_or_else(|error| panic!("{file}: {error}"));
            let expected = recorded["response"]["convertedObjects"].as_array().unwrap();
            assert_eq!(converted.len(), expected.len(), "{file}");
            for (ours, theirs) in converted.iter().zip(expected) {
                assert_eq!(essence(ours), essence(theirs), "{file}");
                objects += 1;
                partial += u64::from(theirs["metadata"]["uid"].is_null());
            }
            reviews += 1;
            beta += u64::from(request["apiVersion"] == "apiextensions.k8s.io/v1beta1");
        }
    }
    assert!(reviews >= 250 && objects >= 250 && partial >= 4 && beta >= 10, "{reviews} {objects} {partial} {beta}");
}
