//! Requests without a possible response: each gets a clear error without a panic, and the next request succeeds.

use pointsman_core::webhook::{BadReview, Endpoint, Enforcement, HandleError, Request, Settings, Webhook};
use serde_json::{Value, json};

use super::apiserver::{accepted_by_apiserver, ask, review};
use super::matrix::{B, labelled};
use super::{gadget, load, plain, serving, with};

const ENDPOINTS: [Endpoint; 2] = [Endpoint::Mutate, Endpoint::Validate];

fn servers() -> [Webhook; 3] {
    let controller =
        |default| serving(load("gadgets.yaml"), Some("2.17.0"), Settings { default, ..Settings::default() });
    [plain(load("gadgets.yaml"), Enforcement::Enforce), controller(true), controller(false)]
}

fn good() -> Value {
    review("CREATE", None, Some(&labelled(&gadget("v2", &json!({"replicas": 2})), Some(B))))
}

/// The next request is handled normally.
fn fine(webhook: &Webhook) {
    for endpoint in ENDPOINTS {
        assert!(ask(webhook, endpoint, &good()).allowed);
    }
}

#[test]
fn malformed_reviews_are_refused() {
    let bodies: [(&[u8], &str); 12] = [
        (b"", "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b"apiVersion: admission.k8s.io/v1", "not JSON"),
        (b"{\"request\":{\"uid\":\"x\"}", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"null", "kind is \"\""),
        (b"[1]", "kind is \"\""),
        (b"\"AdmissionReview\"", "kind is \"\""),
        (
            b"{\"kind\":\"ConversionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}",
            "this path accepts AdmissionReview",
        ),
        (
            b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v2\",\"request\":{}}",
            "this path accepts admission.k8s.io/v1 and",
        ),
        (b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":null}", "no request"),
        (b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"\"}}", "no uid"),
    ];
    for webhook in servers() {
        for endpoint in ENDPOINTS {
            for (body, words) in bodies {
                let error = webhook.handle(&Request::new(endpoint, body)).unwrap_err();
                assert!(error.to_string().contains(words), "{error} for {:?}", String::from_utf8_lossy(body));
                let is_no_json = matches!(error, HandleError::BadReview(BadReview::NotJson { .. }));
                assert_eq!(is_no_json, words == "not JSON");
            }
            let mut deep =
                b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":".to_vec();
            deep.extend(std::iter::repeat_n(b'[', 1_000_000));
            assert!(webhook.handle(&Request::new(endpoint, &deep)).is_err());
        }
        fine(&webhook);
    }
}

#[test]
fn unknown_review_version_keeps_uid() {
    for (field, value, words) in [
        ("kind", "ConversionReview", "this path accepts AdmissionReview"),
        ("apiVersion", "admission.k8s.io/v9", "this path accepts admission.k8s.io/v1"),
    ] {
        for webhook in servers() {
            for endpoint in ENDPOINTS {
                let mut review = good();
                review[field] = json!(value);
                let reply = webhook.handle(&Request::new(endpoint, review.to_string().as_bytes())).unwrap();
                let body: Value = serde_json::from_slice(&reply.body).unwrap();
                review["apiVersion"] = json!("admission.k8s.io/v1");
                accepted_by_apiserver(endpoint, &review, &body).unwrap();
                assert_eq!(body["response"]["allowed"], false);
                assert!(reply.message.unwrap().contains(words));
            }
        }
    }
}

#[test]
fn bad_requests_are_refused_by_path() {
    let long = "x".repeat(100_000);
    for (pointer, value, words) in [
        ("/request/operation", json!("PATCH"), "request.operation is \"PATCH\""),
        ("/request/operation", json!("create"), "request.operation is \"create\""),
        ("/request/operation", json!(5), "request.operation is \"\""),
        ("/request/operation", json!(long), "request.operation is"),
        ("/request/operation", Value::Null, "request.operation is \"\""),
        ("/request/object", Value::Null, "request.object is missing in a CREATE"),
        ("/request/object", json!("text"), "request.object must be an object, not a string"),
        ("/request/object", json!([1]), "request.object must be an object, not an array"),
        ("/request/object", json!(5), "request.object must be an object, not a number"),
        ("/request/kind", Value::Null, "is not served here"),
        ("/request/kind", json!("Gadget"), "is not served here"),
        ("/request/kind/kind", json!(long), "kind: x"),
    ] {
        for webhook in servers() {
            for endpoint in ENDPOINTS {
                let answer = ask(&webhook, endpoint, &with(&good(), pointer, value.clone()));
                assert_eq!((answer.allowed, answer.code), (false, 400), "{pointer} {words}");
                assert!(answer.message.contains(words), "{}", answer.message);
                assert!(answer.message.len() < 2_000);
            }
            fine(&webhook);
        }
    }
    let mut odd = review("UPDATE", Some(&json!("text")), Some(&gadget("v2", &json!({}))));
    for webhook in servers() {
        for old in [json!("text"), json!([]), json!(true)] {
            odd["request"]["oldObject"] = old;
            let answer = ask(&webhook, Endpoint::Validate, &odd);
            assert!(answer.message.contains("request.oldObject must be an object"), "{answer:?}");
        }
    }
}

#[test]
fn malformed_objects_are_refused_by_field() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let base = gadget("v1", &json!({"copies": 2}));
    for (pointer, value, field) in [
        ("/spec", json!("text"), "spec"),
        ("/spec", json!([]), "spec"),
        ("/spec/labels", json!("a"), "spec.labels"),
        ("/spec/labels", json!([7]), "spec.labels"),
        ("/metadata", json!("text"), "metadata"),
        ("/metadata/annotations", json!([]), "metadata.annotations"),
        ("/apiVersion", json!("example.com/v9"), "apiVersion"),
        ("/apiVersion", json!(1), "apiVersion"),
        ("/kind", Value::Null, "kind"),
    ] {
        let mut review = review("CREATE", None, Some(&with(&base, pointer, value)));
        review["request"]["kind"] = good()["request"]["kind"].clone();
        let answer = ask(&webhook, Endpoint::Validate, &review);
        assert_eq!((answer.allowed, answer.code), (false, 422), "{pointer}");
        assert_eq!(answer.causes[0].0, field, "{}", answer.message);
        assert!(ask(&webhook, Endpoint::Mutate, &review).patch.is_empty(), "{pointer}");
        fine(&webhook);
    }
}

#[test]
fn hostile_json_is_bounded() {
    let envelope = good().to_string();
    let with_spec = |spec: &str| envelope.replace("{\"replicas\":2}", spec);
    let twice = [
        with_spec("{\"replicas\":2,\"replicas\":9}"),
        envelope.replace("\"name\":\"g\"", "\"labels\":{\"a\":\"1\",\"a\":\"2\"},\"labels\":{},\"name\":\"g\""),
        envelope.replace("\"metadata\":", "\"metadata\":{},\"metadata\":"),
        envelope.replace("\"uid\":", "\"uid\":\"other\",\"uid\":"),
    ];
    let deep = [
        "[".repeat(100) + &"]".repeat(100),
        "[".repeat(50_000) + &"]".repeat(50_000),
        "{\"a\":".repeat(50_000) + "1" + &"}".repeat(50_000),
    ];
    let deep = deep.map(|deep| with_spec(&format!("{{\"replicas\":2,\"labels\":{{\"a\":{deep}}},\"x\":{deep}}}")));
    let wide: String = (0..50_000).map(|index| format!("\"k{index}\":{index},")).collect();
    let wide = with_spec(&format!("{{{wide}\"replicas\":2}}"));
    for webhook in servers() {
        for body in twice.iter().chain(&deep).chain([&wide]) {
            for endpoint in ENDPOINTS {
                // A response or a refusal, never a panic.
                if let Ok(reply) = webhook.handle(&Request::new(endpoint, body.as_bytes())) {
                    let answer: Value = serde_json::from_slice(&reply.body).unwrap();
                    assert!(answer["response"]["allowed"].is_boolean());
                }
            }
        }
        let refused = webhook.handle(&Request::new(Endpoint::Validate, twice[0].as_bytes())).unwrap();
        assert!(refused.message.is_none_or(|message| message.contains("\"replicas\" twice")));
        fine(&webhook);
    }
}
