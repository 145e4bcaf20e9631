//! Any input converts, or fails with a reason and a path. Nothing panics, and no forged value is trusted.

use super::objects::{complete, hostile, is_complete, pruned};
use super::schema::{fill, invalid};
use super::{Trip, convert, exactly, has_ours, on_every_trip, ours, without_ours};
use crate::kinds::{self, WEBHOOK};
use crate::value::{Value, Written, text};
use pointsman_core::laws::Random;
use pointsman_core::laws::anything;
use pointsman_core::webhook::{ConvertError, Endpoint, Request};

/// An error contains its reason and its path.
fn named(error: Option<ConvertError>) -> Result<(), String> {
    let error = error.filter(|error| error.path().is_empty() || error.reason().is_empty());
    error.map_or(Ok(()), |error| Err(format!("fails without a path: {error}")))
}

#[test]
fn any_object_converts_or_fails() {
    let seen = on_every_trip(1, &hostile, &|trip, seen, object, _| match kinds::convert(object, trip.to) {
        Ok(there) => {
            seen.note("converted", true);
            let again = convert(object, trip.to)?;
            exactly("the same twice", &there, &again)?;
            named(kinds::convert(&there, trip.from).err())
        }
        Err(error) => {
            seen.note("refused", true);
            named(Some(error))
        }
    });
    seen.at_least(30, "converted");
    seen.at_least(2, "refused");
}

/// A forged kept annotation.
fn forged(random: &mut Random, trip: &Trip, real: Option<&Value>) -> Value {
    let real = real.and_then(|real| real.get("fields"));
    let mut entries = match real {
        Some(Value::Object(real)) if random.percent(60) => real.clone(),
        _ => Default::default(),
    };
    let mut fields: Vec<String> =
        ["spec", "status", "spec.nowhere", ".", "", "metadata.annotations", "metadata.annotations[*]", "spec.zones"]
            .iter()
            .map(|field| (*field).to_owned())
            .collect();
    for touched in trip.touched {
        let ways = touched.older.iter().chain(&touched.newer);
        fields.extend(ways.map(|way| crate::value::shown(way).replace('/', ".")));
    }
    for _ in 0..1 + random.below(4) {
        let mut entry = Value::object();
        let members: &[&str] = match random.below(4) {
            0 => &["rest", "seen"],
            1 => &["was"],
            2 => &["each"],
            _ => &["value", "became"],
        };
        for member in members {
            if random.percent(60) {
                entry.set(member, anything(random, 3));
            }
        }
        let field = random.pick(&fields).unwrap().clone();
        let entry = if random.percent(10) { anything(random, 2) } else { entry };
        entries.insert(field, entry);
    }
    let mut forged = Value::object();
    forged.set("fields", Value::Object(entries));
    if random.percent(30) {
        let note = *random.pick(&["request", "completed", "returned", "at", "absent"]).unwrap();
        forged.set(&format!("rollout.{note}"), anything(random, 2));
    }
    let whole = forged.to_text();
    match random.below(10) {
        0 => anything(random, 2),
        1 => text(whole.get(..random.below(whole.len())).unwrap_or("{")),
        2 => text(&anything(random, 3).to_text()),
        _ => text(&whole),
    }
}

/// Also for a status, which only controllers write: a list is not a hash, and no API server would accept it again.
#[test]
fn forged_hash_needs_hash_type() {
    const HASH: &str = "14c2936ec13fa4cae70d33eb69c00e14369db5b93706691797324da73fa2e555";
    const DONE: &str = "22222222-2222-2222-2222-222222222222";
    let forged = |value: &str| {
        let fields = format!(r#""fields":{{"status.requestedRolloutHash":{{"became":"{HASH}","value":{value}}}}}"#);
        format!(r#"{{{fields},"rollout":{{"returned":"{DONE}"}}}}"#)
    };
    for (from, to) in [("v1alpha2", "v1alpha1"), ("v1alpha1", "v1alpha2")] {
        let came = |value: &str| {
            let mut object = Value::parse(&format!(
                r#"{{"apiVersion":"materialize.cloud/{from}","kind":"Materialize","metadata":{{"name":"a"}},
                "spec":{{"backendSecretName":"s","environmentdImageRef":"i:v1"}},
                "status":{{"requestedRolloutHash":"{HASH}","lastCompletedRolloutRequest":"{DONE}"}}}}"#
            ));
            let mut annotations = Value::object();
            if let Value::Object(all) = &mut annotations {
                all.insert(format!("pointsman.dev/kept-{to}"), text(&forged(value)));
            }
            object.set("metadata.annotations", annotations);
            convert(&object, to).unwrap().field("status.requestedRolloutHash").cloned()
        };
        assert_eq!(came(r#""bb""#), Some(text("bb")), "{from}: what a controller wrote");
        assert_eq!(came("null"), Some(Value::Null), "{from}");
        for value in ["[null]", "[]", "{}", "1", "true"] {
            assert_eq!(came(value), Some(text(HASH)), "{from}: {value}");
        }
    }
}

/// The maximum depth of a body of about ten kilobytes.
const DEPTH: usize = 20_000;

/// 13 bytes per level: too small for any recursive function.
const STACK: usize = 256 << 10;

/// Runs work with that stack.
fn with_little_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap();
    });
}

/// Placeholder for deeply nested text: test values are not parsed to that depth.
const DEEP: &str = "@deep@";

/// Inserts the placeholder into object number `left` of a value. Returns whether that object exists.
fn nest(value: &mut Value, left: &mut usize) -> bool {
    match value {
        Value::Object(members) => {
            let Some(next) = left.checked_sub(1) else {
                members.insert("zz".to_owned(), text(DEEP));
                return true;
            };
            *left = next;
            members.values_mut().any(|inner| nest(inner, left))
        }
        Value::List(items) => items.iter_mut().any(|inner| nest(inner, left)),
        _ => false,
    }
}

/// The deeply nested texts for the placeholder.
fn nested() -> [String; 3] {
    [
        "[".repeat(DEPTH) + &"]".repeat(DEPTH),
        r#"{"a":"#.repeat(DEPTH) + "1" + &"}".repeat(DEPTH),
        r#"[{"a":"#.repeat(DEPTH / 2) + "1e400" + &"}]".repeat(DEPTH / 2),
    ]
}

/// Converts an object in both directions, validates and stamps it, with deeply nested text for the placeholder.
fn goes_all_ways(trip: &Trip, object: &str) {
    let quoted = text(DEEP).to_text();
    for nested in nested() {
        let object = object.replace(&quoted, &nested);
        if let Ok(there) = WEBHOOK.convert(&object, trip.to) {
            assert!(WEBHOOK.convert(&there.text, trip.from).is_ok(), "{}", trip.name());
        }
        let names = trip.kind.crd().pointer("/spec/names").unwrap();
        let (group, version) = (trip.kind.group(), trip.from);
        let review = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","kind":{{"group":"{group}",
            "version":"{version}","kind":{}}},"resource":{{"group":"{group}","version":"{version}","resource":{}}},"name":"a",
            "operation":"UPDATE","userInfo":{{"username":"x"}},"object":{object},"oldObject":{object}}}}}"#,
            names["kind"], names["plural"],
        );
        for endpoint in [Endpoint::Validate, Endpoint::Mutate] {
            WEBHOOK.handle(&Request::new(endpoint, review.as_bytes())).unwrap();
        }
    }
}

#[test]
fn deep_nesting_needs_no_stack() {
    let seen = on_every_trip(5, &complete, &|trip, seen, object, seed| {
        let mut deep = object.clone();
        if nest(&mut deep, &mut Random::new(seed).below(30)) {
            seen.note("nested", true);
            with_little_stack(|| goes_all_ways(trip, &deep.to_text()));
        }
        Ok(())
    });
    seen.at_least(30, "nested");
}

#[test]
fn deep_annotation_needs_no_stack() {
    let seen = on_every_trip(5, &complete, &|trip, seen, object, seed| {
        let mut random = Random::new(seed ^ 0xDEE9);
        let there = convert(object, trip.to)?;
        let mut kept = ours(&there, trip.from).unwrap_or_else(|| Value::parse(r#"{"fields":{"spec":{}}}"#));
        let touched = trip.touched.iter().flat_map(|touched| touched.older.iter().chain(&touched.newer));
        // The rest of an object is kept under its own name.
        let touched = touched.flat_map(|way| (1..=way.len()).filter_map(|length| way.get(..length)));
        let fields: Vec<String> = touched.map(|way| crate::value::shown(way).replace('/', ".")).collect();
        if let (Some(field), Value::Object(members)) = (random.pick(&fields), &mut kept) {
            let rest = random.percent(50);
            let entry = if rest { r#"{"rest":{"zz":"@deep@"}}"# } else { r#"{"value":{"zz":"@deep@"},"became":null}"# };
            let mut fields = members.get("fields").cloned().unwrap_or_else(Value::object);
            if let Value::Object(fields) = &mut fields {
                fields.insert(field.clone(), Value::parse(entry));
            }
            members.insert("fields".to_owned(), fields);
        }
        nest(&mut kept, &mut random.below(8));
        for nested in nested() {
            let kept = kept.to_text().replace(&text(DEEP).to_text(), &nested);
            let mut annotations = there.field("metadata.annotations").cloned().unwrap_or_else(Value::object);
            if let Value::Object(all) = &mut annotations {
                all.insert(format!("pointsman.dev/kept-{}", trip.from), text(&kept));
            }
            let mut forged = there.clone();
            forged.set("metadata.annotations", annotations);
            seen.note("forged", true);
            with_little_stack(|| drop(WEBHOOK.convert(&forged.to_text(), trip.from)));
        }
        Ok(())
    });
    seen.at_least(100, "forged");
}

#[test]
fn forged_annotations_gain_nothing() {
    let seen = on_every_trip(1, &pruned, &|trip, seen, object, seed| {
        if !is_complete(trip, object) {
            return Ok(());
        }
        let mut random = Random::new(seed ^ 0xF06);
        let mut there = convert(object, trip.to)?;
        let annotation = forged(&mut random, trip, ours(&there, trip.from).as_ref());
        let honest = without_ours(&there);
        let mut annotations = honest.field("metadata.annotations").cloned().unwrap_or_else(Value::object);
        if let Value::Object(all) = &mut annotations {
            all.insert(format!("pointsman.dev/kept-{}", trip.from), annotation.clone());
        }
        there.set("metadata.annotations", annotations);
        fill(trip.schema_to(), &mut there);
        let valid = invalid(trip.schema_to(), &there, "").is_none();
        match kinds::convert(&there, trip.from) {
            Err(error) if annotation.as_str().is_some() => {
                Err(format!("a string in an annotation is no error: {error}"))
            }
            Err(_) => Ok(()),
            Ok(mut home) => {
                seen.note("converted", true);
                seen.note("believed", without_ours(&home) != without_ours(&convert(&honest, trip.from)?));
                let fields = home.field("spec.nowhere").is_some();
                fill(trip.schema_from(), &mut home);
                match invalid(trip.schema_from(), &home, "") {
                    _ if fields => Err("gives back a field that nothing keeps".to_owned()),
                    Some(problem) if valid && !problem.ends_with("type: null") => {
                        Err(format!("returns an impossible value: {problem}\nfrom: {}", there.to_text()))
                    }
                    _ => Ok(()),
                }
            }
        }
    });
    seen.at_least(80, "converted");
    seen.at_least(1, "believed");
}

#[test]
fn foreign_annotations_are_carried() {
    let seen = on_every_trip(4, &complete, &|trip, seen, object, _| {
        for foreign in
            ["", "x", "{", "[]", "null", "{}", "{\"a\":1}", "{\"nowhere\":{}}", "{\"a\":{},\"a\":{}}", "1e400"]
        {
            let mut object = without_ours(object);
            let name = format!("pointsman.dev/kept-{}", trip.to);
            let mut annotations = object.field("metadata.annotations").cloned().unwrap_or_else(Value::object);
            if let Value::Object(all) = &mut annotations {
                all.insert(name.clone(), text(foreign));
            }
            object.set("metadata.annotations", annotations);
            let there = convert(&object, trip.to)?;
            if there.field("metadata.annotations").and_then(|all| all.get(&name)) != Some(&text(foreign)) {
                return Err(format!("{foreign:?} is gone"));
            }
            // If a kept annotation of the same name replaces it, the foreign annotation is restored.
            let home = convert(&there, trip.from)?;
            if home.field("metadata.annotations").and_then(|all| all.get(&name)).is_none() {
                return Err(format!("{foreign:?} does not come home"));
            }
            seen.note("carried", true);
            seen.note("next to our annotations", has_ours(&there));
        }
        Ok(())
    });
    seen.at_least(500, "carried");
}

#[test]
fn depth_size_duplicates_are_bounded() {
    let object = |spec: &str| {
        format!("{{\"apiVersion\":\"example.com/v1\",\"kind\":\"Mailbox\",\"metadata\":{{}},\"spec\":{spec}}}")
    };
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    for place in ["extra", "nowhere", "forward", "aliases", "old", "filters", "policy", "notes"] {
        let text = object(&format!("{{\"{place}\":{deep}}}"));
        match WEBHOOK.convert(&text, "v2") {
            Ok(there) => {
                let home = WEBHOOK.convert(&there.text, "v1").unwrap();
                assert!(home.text.contains(&deep), "{place}");
            }
            Err(error) => assert!(error.path().starts_with("spec") || error.path() == "object", "{place}: {error}"),
        }
    }
    let nested = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
    assert!(WEBHOOK.preimage(&object(&format!("{{\"extra\":{nested}}}"))).is_ok());
    for twice in
        ["{\"mail\":1,\"mail\":2}", "{\"old\":{\"quota\":1,\"quota\":2}}", "{\"filters\":[{\"id\":1,\"\\u0069d\":2}]}"]
    {
        let error = WEBHOOK.convert(&object(twice), "v2").unwrap_err();
        assert!(error.reason().contains("twice") && error.path().starts_with("spec"), "{error}");
    }
    for broken in
        ["", "{", "[]", "null", "1", "\"x\"", "{}", "{\"apiVersion\":1}", "{\"apiVersion\":\"example.com/v1\"}"]
    {
        let error = WEBHOOK.convert(broken, "v2").unwrap_err();
        assert!(!error.path().is_empty() && !error.reason().is_empty());
    }
}
