//! Law 6: the difference is kept, not the object; nothing where there is none; and never more than the API server takes.

use super::objects::{complete, is_complete, pruned};
use super::{convert, has_ours, on_every_trip, ours};
use crate::kinds;
use crate::value::{Value, Written, text};

#[test]
fn objects_born_in_the_newest_version_stay_clean_there() {
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
fn what_is_kept_is_smaller_than_what_there_is() {
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

#[test]
fn too_much_to_keep_is_refused_before_the_api_server_does() {
    let object = |length: usize| {
        let mut object = Value::parse(
            r#"{"apiVersion":"example.com/v1alpha1","kind":"Proxy","metadata":{"name":"a"},"spec":{"image":"i"}}"#,
        );
        object.set("spec.legacyMode", text(&"x".repeat(length)));
        object
    };
    let there = kinds::convert(&object(262_000), "v1").unwrap();
    assert_eq!(
        kinds::convert(&there, "v1alpha1").unwrap().field("spec.legacyMode"),
        object(262_000).field("spec.legacyMode")
    );
    let error = kinds::convert(&object(262_144), "v1").unwrap_err();
    assert_eq!(error.path(), "metadata.annotations");
    assert!(error.reason().contains("262144") && error.reason().contains("smaller"), "{error}");
    // What a user's annotations take alone is not ours to refuse.
    let mut full = object(1);
    full.take("spec.legacyMode");
    full.set("metadata.annotations.a", text(&"x".repeat(300_000)));
    assert!(kinds::convert(&full, "v1").is_ok());
}

/// Who reads has done nothing wrong; who writes would lose what was left out.
#[test]
fn too_much_to_keep_is_marked_for_readers_and_not_written_back() {
    let mut stored = Value::parse(
        r#"{"apiVersion":"example.com/v1","kind":"Proxy","metadata":{"name":"a"},"spec":{"container":{"image":"i"}}}"#,
    );
    stored.set("spec.strategy", text(&"x".repeat(262_144)));
    for version in ["v1beta1", "v1alpha1"] {
        let read = kinds::convert(&stored, version).unwrap();
        let annotations = read.field("metadata.annotations").unwrap().to_text();
        assert_eq!(annotations, r#"{"pointsman.dev/incomplete":"pointsman.dev/kept-v1"}"#);
        let error = kinds::convert(&read, "v1").unwrap_err();
        assert!(error.reason().contains("pointsman.dev/kept-v1"), "{error}");
    }
}

/// Lists, maps, strings and annotations a hundred times as big take a hundred times as long, not ten thousand.
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
