//! The API server's checks of a conversion response, restated.
//!
//! Source: `apiextensions-apiserver pkg/apiserver/conversion/webhook_converter.go`: `getConvertedObjectsFromResponse`,
//! `validateConvertedObject`, `restoreObjectMeta`.

use serde_json::Value;

/// The API server's result of a conversion response: the converted objects, or the error.
pub(crate) fn accepted_by_apiserver(request: &Value, answer: &[u8]) -> Result<Vec<Value>, String> {
    let review: Value = serde_json::from_slice(answer).map_err(|error| format!("not JSON: {error}"))?;
    let v1 = request["apiVersion"] == "apiextensions.k8s.io/v1";
    if v1 {
        if review["kind"] != "ConversionReview" || review["apiVersion"] != request["apiVersion"] {
            return Err(format!("{} {} is not the kind of the request", review["apiVersion"], review["kind"]));
        }
        if review["response"]["uid"] != request["request"]["uid"] {
            return Err("another uid".to_owned());
        }
    }
    let response = review.get("response").filter(|response| response.is_object()).ok_or("no response")?;
    if response["result"]["status"] != "Success" {
        let message = response["result"]["message"].as_str().unwrap_or_default();
        return Err(if message.is_empty() {
            "a failure without a message".to_owned()
        } else {
            format!("refused: {message}")
        });
    }
    let empty = Vec::new();
    let (sent, converted) =
        (request["request"]["objects"].as_array().unwrap_or(&empty), response["convertedObjects"].as_array());
    let converted = converted.ok_or("no convertedObjects")?;
    if converted.len() != sent.len() {
        return Err(format!("{} objects, expected {}", converted.len(), sent.len()));
    }
    for (sent, converted) in sent.iter().zip(converted) {
        check(sent, converted, &request["request"]["desiredAPIVersion"])?;
    }
    Ok(converted.clone())
}

fn check(sent: &Value, converted: &Value, desired: &Value) -> Result<(), String> {
    if converted["apiVersion"] != *desired {
        return Err(format!("apiVersion {} is not {desired}", converted["apiVersion"]));
    }
    if converted["kind"] != sent["kind"] {
        return Err(format!("kind {} is not {}", converted["kind"], sent["kind"]));
    }
    let metadata =
        converted.get("metadata").and_then(Value::as_object).ok_or("missing metadata in converted object")?;
    for name in ["name", "namespace", "uid"] {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        if text(metadata.get(name)) != text(sent["metadata"].get(name)) {
            return Err(format!("{name} changed"));
        }
    }
    for name in ["labels", "annotations"] {
        let Some(map) = metadata.get(name).filter(|map| !map.is_null()) else {
            continue;
        };
        if Some(map) == sent["metadata"].get(name) {
            continue;
        }
        let map = map.as_object().ok_or_else(|| format!("{name} is no map"))?;
        if !map.values().all(Value::is_string) {
            return Err(format!("{name} holds something else than strings"));
        }
        let size: usize = map.iter().map(|(name, value)| name.len() + value.as_str().unwrap_or_default().len()).sum();
        if name == "annotations" && size > 256 * 1024 {
            return Err(format!("annotations hold {size} bytes"));
        }
    }
    Ok(())
}

#[test]
fn invalid_responses_are_found() {
    let request = serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": "g/v2", "objects": [{"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}}]},
    });
    let good = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"u","result":{"status":"Success"},"convertedObjects":[{"apiVersion":"g/v2","kind":"K","metadata":{"name":"n"}}]}}"#;
    assert!(accepted_by_apiserver(&request, good.as_bytes()).is_ok());
    for (right, wrong) in [
        ("\"uid\":\"u\"", "\"uid\":\"x\""),
        ("k8s.io/v1", "k8s.io/v1beta1"),
        ("Success", "Failure"),
        ("g/v2", "g/v1"),
        ("\"kind\":\"K\"", "\"kind\":\"L\""),
        ("\"name\":\"n\"", "\"name\":\"m\""),
        (",\"metadata\":{\"name\":\"n\"}", ""),
        ("{\"name\":\"n\"}", "{\"name\":\"n\",\"labels\":{\"a\":1}}"),
        ("{\"name\":\"n\"}", "{\"name\":\"n\",\"annotations\":[]}"),
    ] {
        assert!(good.contains(right));
        assert!(accepted_by_apiserver(&request, good.replace(right, wrong).as_bytes()).is_err(), "{wrong}");
    }
}
