//! The webhook returns as many objects as were sent, in order, each with its identity.

use pointsman_core::webhook::{Endpoint, Outcome, Request};

use super::objects::{complete, sparse};
use super::{Trip, number, same, trips};
use crate::contract::accepted_by_apiserver;
use crate::kinds::{WEBHOOK, convert};
use crate::value::{Value, Written, text};
use pointsman_core::laws::Random;

fn review(random: &mut Random, desired: &str, objects: Vec<Value>) -> Value {
    let mut review = Value::parse(
        r#"{"kind":"ConversionReview","request":{"uid":"u-1"},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}"#,
    );
    let version = if random.percent(50) { "v1" } else { "v1beta1" };
    review.set("apiVersion", text(&format!("apiextensions.k8s.io/{version}")));
    review.set("request.desiredAPIVersion", text(desired));
    review.set("request.objects", Value::List(objects));
    review
}

/// Complete and sparse objects of several versions; named objects have unique names.
fn objects(random: &mut Random, trips: &[&Trip], seed: u64, count: usize) -> Vec<Value> {
    let made = |index: usize| {
        let trip = random.pick(trips).unwrap();
        let case = seed.wrapping_mul(1000) + index as u64;
        let mut object = if random.percent(70) { complete(trip, case) } else { sparse(trip, case) };
        if object.field("metadata.name").is_some() {
            object.set("metadata.name", text(&format!("n-{index}")));
        }
        object
    };
    (0..count).map(made).collect()
}

#[test]
fn response_holds_sent_objects() {
    let trips = trips();
    let (mut mixed, mut converted, mut bare, mut labelled) = (0, 0, 0, 0);
    for seed in 0..number("POINTSMAN_CASES", 300).max(200) {
        let mut random = Random::new(seed ^ 0x12E1);
        let to = random.pick(&trips).unwrap().to;
        let desired =
            trips.iter().filter(|trip| trip.to == to && trip.kind.group() == "example.com").collect::<Vec<_>>();
        let desired = if desired.is_empty() { trips.iter().filter(|trip| trip.to == to).collect() } else { desired };
        let count = 1 + random.below(if seed % 10 == 0 { 50 } else { 5 });
        let sent = objects(&mut random, &desired, seed, count);
        bare += sent.iter().filter(|object| object.field("metadata.name").is_none()).count();
        let group = desired[0].kind.group();
        let review = review(&mut random, &format!("{group}/{to}"), sent.clone()).to_text();
        let reply = WEBHOOK.handle(&Request::new(Endpoint::Convert, review.as_bytes())).unwrap();
        if sent.iter().any(|object| convert(object, to).is_err()) {
            assert_eq!(reply.outcome, Outcome::Fail);
            continue;
        }
        // `1E400` is JSON, but no reader with floating-point numbers accepts it: the contract check uses another
        // number.
        let readable = |text: &str| serde_json::from_str(&text.replace("1E400", "14")).unwrap();
        let body = String::from_utf8(reply.body).unwrap().replace("1E400", "14");
        let answered = accepted_by_apiserver(&readable(&review), body.as_bytes())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        mixed += u64::from(sent.iter().any(|object| object.get("apiVersion") != sent[0].get("apiVersion")));
        for (sent, answered) in sent.iter().zip(answered) {
            converted += 1;
            let alone = Value::parse(&convert(sent, to).unwrap().to_text().replace("1E400", "14"));
            let answered = Value::parse(&answered.to_string());
            for name in ["labels", "annotations"] {
                let field = format!("metadata.{name}");
                let kept =
                    |object: &Value| object.field(&field).cloned().filter(|map| !map.is_empty() && *map != Value::Null);
                assert_eq!(kept(&alone), kept(&answered), "seed {seed}");
            }
            labelled += u64::from(sent.field("metadata.name").is_none() && sent.field("metadata.labels").is_some());
            same("kind", alone.get("kind").unwrap(), answered.get("kind").unwrap()).unwrap();
        }
        assert_eq!(reply.conversions.iter().map(|counted| counted.objects).sum::<u64>(), count as u64);
    }
    assert!(mixed > 50 && converted > 500 && bare > 5 && labelled > 0, "{mixed} {converted} {bare} {labelled}");
}

#[test]
fn failing_object_is_named_alone() {
    let good = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"n"},"spec":{}}"#;
    let bad = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b","namespace":"n"},"spec":[1]}"#;
    let mut random = Random::new(0);
    let objects = [good, bad, good].map(Value::parse).to_vec();
    let text = review(&mut random, "example.com/v2", objects).to_text();
    let reply = WEBHOOK.handle(&Request::new(Endpoint::Convert, text.as_bytes())).unwrap();
    let refused = accepted_by_apiserver(&serde_json::from_str(&text).unwrap(), &reply.body).unwrap_err();
    for part in ["1 of 3", "n/b", "object 1", "spec", "must be an object"] {
        assert!(refused.contains(part), "{refused}");
    }
}

/// API servers send only objects of other versions; a request with a whole list gets the whole list.
#[test]
fn current_version_object_is_unchanged() {
    let object = |version: &str, name: &str| {
        let object =
            format!(r#"{{"apiVersion":"example.com/{version}","kind":"Widget","metadata":{{"name":"{name}"}}}}"#);
        Value::parse(&object)
    };
    let sent = vec![object("v2", "a"), object("v1", "b"), object("v2", "c")];
    let text = review(&mut Random::new(0), "example.com/v2", sent.clone()).to_text();
    let reply = WEBHOOK.handle(&Request::new(Endpoint::Convert, text.as_bytes())).unwrap();
    let asked: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(asked["request"]["uid"], reply.uid, "for the log, as in the answer");
    let answered = accepted_by_apiserver(&asked, &reply.body).unwrap();
    let answered: Vec<Value> = answered.iter().map(|one| Value::parse(&one.to_string())).collect();
    assert_eq!((&answered[0], &answered[2]), (&sent[0], &sent[2]));
    assert_eq!(answered[1].field("apiVersion"), sent[0].field("apiVersion"));
    assert_eq!(reply.conversions.iter().map(|counted| counted.objects).sum::<u64>(), 1);
}

/// The response repeats the uid, unless an API server could not have generated it.
#[test]
fn uid_has_at_most_256_bytes() {
    let answered = |length: usize| {
        let mut text = review(&mut Random::new(0), "example.com/v2", Vec::new()).to_text();
        let asked: serde_json::Value = serde_json::from_str(&text).unwrap();
        let uid = asked["request"]["uid"].as_str().unwrap();
        text = text.replace(&format!("\"{uid}\""), &format!("\"{}\"", "u".repeat(length)));
        WEBHOOK.handle(&Request::new(Endpoint::Convert, text.as_bytes())).map(|reply| reply.uid.len())
    };
    assert_eq!(answered(256).unwrap(), 256);
    for length in [257, 4096] {
        assert!(answered(length).unwrap_err().to_string().contains("bytes, more than 256"), "{length}");
    }
}

/// Objects are converted while being read: the rest of the review still matters.
#[test]
fn truncated_review_is_refused() {
    let object = |name: &str| {
        format!(r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{name}"}},"spec":{{}}}}"#)
    };
    let review = format!(
        "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"request\":{{\"uid\":\"u\",\
         \"desiredAPIVersion\":\"example.com/v2\",\"objects\":[{},{}]}}}}",
        object("a"),
        object("b")
    );
    let is_review = |body: &str| WEBHOOK.handle(&Request::new(Endpoint::Convert, body.as_bytes())).is_ok();
    assert!(is_review(&review));
    for end in 0..review.len() {
        assert!(!is_review(&review[..end]), "{}", &review[..end]);
    }
    for more in ["x", "]", "}", "{}", ",", "null"] {
        assert!(!is_review(&format!("{review}{more}")), "{more}");
    }
}
