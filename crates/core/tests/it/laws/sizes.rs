//! Only the difference is kept, not the object; nothing without a difference; and never more than the API server
//! accepts.

use pointsman_core::webhook::AnnotationBudget;

use super::objects::{complete, is_complete, pruned};
use super::{convert, has_ours, on_every_trip, ours};
use crate::kinds;
use crate::value::{Value, Written, text};

#[test]
fn objects_in_newest_version_stay_clean() {
    let seen = on_every_trip(2, &pruned, &|trip, seen, object, _| {
        if trip.down && is_complete(trip, object) {
            seen.note("clean", true);
            let home = convert(&convert(object, trip.to)?, trip.from)?;
            if has_ours(&home) {
                return Err(format!("leaves {:?}", ours(&home, trip.to).map(|entries| entries.to_text())));
            }
        }
        Ok(())
    });
    seen.at_least(45, "clean");
}

#[test]
fn kept_data_is_smaller_than_object() {
    let seen = on_every_trip(2, &complete, &|trip, seen, object, _| {
        let there = convert(object, trip.to)?;
        if let Some(entries) = ours(&there, trip.from) {
            seen.note("kept", true);
            let (kept, whole) = (entries.to_text().len(), object.to_text().len());
            if kept > whole + 400 {
                return Err(format!("keeps {kept} bytes of an object of {whole}"));
            }
        }
        Ok(())
    });
    seen.at_least(30, "kept");
}

fn proxy(version: &str, field: &str, length: usize) -> Value {
    let spec = if version == "v1" { r#"{"container":{"image":"i"}}"# } else { r#"{"image":"i"}"# };
    let head =
        format!(r#"{{"apiVersion":"example.com/{version}","kind":"Proxy","metadata":{{"name":"a"}},"spec":{spec}}}"#);
    let mut object = Value::parse(&head);
    object.set(field, text(&"x".repeat(length)));
    object
}

fn annotations(object: &Value) -> String {
    object.field("metadata.annotations").map(Value::to_text).unwrap_or_default()
}

/// A review does not distinguish writers from readers, and a reader has done nothing wrong.
#[test]
fn oversized_kept_data_is_marked() {
    let fits = proxy("v1alpha1", "spec.legacyMode", 262_000);
    let home = kinds::convert(&kinds::convert(&fits, "v1").unwrap(), "v1alpha1").unwrap();
    assert_eq!(home.field("spec.legacyMode"), fits.field("spec.legacyMode"));
    let there = kinds::convert(&proxy("v1alpha1", "spec.legacyMode", 262_144), "v1").unwrap();
    assert_eq!(annotations(&there), r#"{"pointsman.dev/incomplete":"pointsman.dev/kept-v1alpha1"}"#);
    // For any storage version, and over several versions. The annotation stays with the object, so a write is refused.
    let stored = proxy("v1", "spec.strategy", 262_144);
    for version in ["v1beta1", "v1alpha1"] {
        let read = kinds::convert(&stored, version).unwrap();
        let mark = r#"{"pointsman.dev/incomplete":"pointsman.dev/kept-v1"}"#;
        assert_eq!(annotations(&read), mark);
        assert_eq!(annotations(&kinds::convert(&read, "v1").unwrap()), mark);
    }
}

/// Validation skips the size check for small data: an object of 4 KiB that needs nearly one entry per byte.
#[test]
fn small_object_keeps_everything() {
    let small = |fill: &dyn Fn(&mut Value, usize)| {
        let object = |count: usize| {
            let spec = r#"{"apiVersion":"example.com/v1alpha1","kind":"Proxy","metadata":{},"spec":{"image":"i"}}"#;
            let mut object = Value::parse(spec);
            fill(&mut object, count);
            object
        };
        let count = (1..).take_while(|count| object(*count).to_text().len() <= 4 * 1024).last().unwrap();
        object(count)
    };
    let item = |text: &str| Value::parse(text);
    let routes = |count: usize| (0..count).map(|at| item(&format!(r#"{{"name":"{at}","debug":true}}"#))).collect();
    let rules = |count: usize| (0..count).map(|_| item(r#"{"comment":""}"#)).collect();
    let zones = |count: usize| (0..count).map(|at| (format!("{at}"), item(r#"{"tags":[]}"#))).collect();
    for object in [
        small(&|object, count| object.set("spec.routes", Value::List(routes(count)))),
        small(&|object, count| object.set("spec.rules", Value::List(rules(count)))),
        small(&|object, count| object.set("spec.zones", Value::Object(zones(count)))),
        small(&|object, count| object.set("spec.note", text(&"\u{1}".repeat(count)))),
        small(&|object, count| object.set("spec.legacyMode", text(&"\"".repeat(count)))),
    ] {
        for version in ["v1beta1", "v1"] {
            let there = kinds::converted(&object, version).unwrap();
            assert_eq!(there.fit, AnnotationBudget::Well, "{}", object.to_text());
        }
    }
}

/// The operator is warned in time, but not about annotations that only the user owns.
#[test]
fn nearly_full_annotations_warn() {
    let fit = |others: usize, kept: usize| {
        let mut object = proxy("v1alpha1", "spec.legacyMode", kept);
        if kept == 0 {
            object = proxy("v1alpha1", "spec.note", 1);
        }
        object.set("metadata.annotations.a", text(&"x".repeat(others)));
        kinds::converted(&object, "v1").unwrap().fit
    };
    // Three quarters of 256 KiB, less the overhead of a value, in both names and in the user's name.
    let around = fit_at(&|kept| fit(0, kept));
    assert!((196_608 - 120..196_608).contains(&around), "{around}");
    for (others, kept, expected) in [
        (0, around, AnnotationBudget::Well),
        (0, around + 1, AnnotationBudget::Barely),
        (100, around - 100, AnnotationBudget::Well),
        (101, around - 100, AnnotationBudget::Barely),
        (0, 262_000, AnnotationBudget::Barely),
        (0, 262_144, AnnotationBudget::Not),
        (262_140, 0, AnnotationBudget::Well),
        (300_000, 0, AnnotationBudget::Well),
    ] {
        assert_eq!(fit(others, kept), expected, "{others} {kept}");
    }
}

/// The largest size without a warning.
fn fit_at(fit: &dyn Fn(usize) -> AnnotationBudget) -> usize {
    let (mut well, mut barely) = (1, 262_000);
    while barely - well > 1 {
        let middle = (well + barely) / 2;
        if fit(middle) == AnnotationBudget::Well { well = middle } else { barely = middle }
    }
    well
}

#[test]
fn a_mark_never_breaks_the_budget() {
    // The size of a user's own annotations alone is never refused.
    for (length, mark) in [
        (262_143, None),
        (262_130, None),
        (262_143 - 24, Some("")),
        (262_143 - 24 - 26, Some("")),
        (262_143 - 24 - 27, Some("pointsman.dev/kept-v1alpha1")),
        (300_000, None),
    ] {
        let mut object = proxy("v1alpha1", "spec.legacyMode", 100);
        object.set("metadata.annotations.a", text(&"x".repeat(length)));
        let there = kinds::convert(&object, "v1").unwrap();
        let all = there.field("metadata.annotations").unwrap();
        let found = all.get("pointsman.dev/incomplete").and_then(Value::as_str);
        assert_eq!(found, mark, "{length}");
    }
}

/// Lists, maps, strings and annotations of a hundredfold size take a hundredfold time, not ten-thousandfold.
#[test]
fn big_objects_take_time_in_proportion() {
    let measure = |count: usize| {
        let mut object =
            Value::parse(r#"{"apiVersion":"example.com/v1alpha1","kind":"Proxy","metadata":{},"spec":{"image":"i"}}"#);
        let item = |index: usize, named: bool| {
            let mut item = Value::parse(r#"{"comment":"c","debug":true,"weight":"1"}"#);
            if named {
                item.set("name", text(&index.to_string()));
            }
            item
        };
        object.set("spec.routes", Value::List((0..count).map(|index| item(index, true)).collect()));
        object.set("spec.rules", Value::List((0..count).map(|index| item(index % 7, false)).collect()));
        let zone = |index: usize| (format!("z{index}"), Value::parse(r#"{"region":"r","tags":["1","2"]}"#));
        object.set("spec.zones", Value::Object((0..count).map(zone).collect()));
        object.set("spec.note", text(&"\\\"n".repeat(count * 10)));
        let sent = object.to_text();
        let time = |_| {
            let start = std::time::Instant::now();
            let there = kinds::WEBHOOK.convert(&sent, "v1").unwrap();
            kinds::WEBHOOK.convert(&there.text, "v1alpha1").unwrap();
            start.elapsed()
        };
        (0..3).map(time).min().unwrap()
    };
    let (small, big) = (measure(25), measure(2_500));
    assert!(big < small * 1_000, "{small:?} for 25, {big:?} for 2,500 items");
}
