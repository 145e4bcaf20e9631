//! Restored kept values: forged entries, and values of operations whose condition is false.

use serde_json::{Value, json};

use super::kept::{at, things};
use pointsman_core::webhook::Webhook;

fn thing(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"),
        "kind": "Thing",
        "metadata": {"name": "t", "uid": "u"},
        "spec": spec,
    })
}

fn with_kept(mut object: Value, version: &str, fields: Value) -> Value {
    let annotation = json!({ "fields": fields }).to_string();
    object["metadata"]["annotations"] = json!({ format!("pointsman.dev/kept-{version}"): annotation });
    object
}

fn spec_at(webhook: &Webhook, object: &Value, version: &str) -> Value {
    at(webhook, object, version)["spec"].clone()
}

/// The properties of both versions, where T is a text; the operation; the location and value of a forged entry; the
/// result in the newer version and in the older version.
fn forged_entries() -> Vec<([&'static str; 4], [Value; 3])> {
    vec![
        (
            ["image: T", "container: T", "{rename: {from: spec.image, to: spec.container}}", "spec.image"],
            [json!("evil"), json!({"container": "good"}), json!({"image": "good"})],
        ),
        (["n: {type: integer}", "n: T", "{type: spec.n}", "spec.n"], [json!(6), json!({"n": "5"}), json!({"n": 5})]),
        (
            ["m: T", "m: T", "{values: {field: spec.m, map: {fast: Quick}}}", "spec.m"],
            [json!("slow"), json!({"m": "Quick"}), json!({"m": "fast"})],
        ),
        (
            ["a: T", "h: T, p: T", "{split: {field: spec.a, into: [spec.h, spec.p], separator: ':'}}", "spec.a"],
            [json!("x:y"), json!({"h": "a", "p": "b"}), json!({"a": "a:b"})],
        ),
        (
            ["a: T", "a: {type: array, items: T}", "{wrap: spec.a}", "spec.a"],
            [json!("evil"), json!({"a": ["good"]}), json!({"a": "good"})],
        ),
        (
            ["a: {type: integer}", "a: {type: integer, minimum: 1}", "{clamp: {field: spec.a, min: 1}}", "spec.a"],
            [json!(7), json!({"a": 1}), json!({"a": 1})],
        ),
        (
            ["a: T", "a: T", "{blank: {field: spec.a, spellings: ['-']}}", "spec.a"],
            [json!("evil"), json!({}), json!({})],
        ),
    ]
}

#[test]
fn forged_entry_keeps_shown_value() {
    for ([older, newer, operation, place], [value, shown, expected]) in forged_entries() {
        let [older, newer] = [older, newer].map(|spec| spec.replace('T', "{type: string}"));
        let webhook = things(&[(&older, ""), (&newer, operation)]);
        let became: Vec<Value> = shown.as_object().unwrap().values().cloned().collect();
        let mut entry = json!({ "value": value });
        match became.as_slice() {
            [] => {}
            [one] => entry["became"] = one.clone(),
            several => entry["became"] = several.iter().map(|one| json!([one])).collect(),
        }
        let object = with_kept(thing("v2", shown), "v1", json!({ place: entry }));
        assert_eq!(spec_at(&webhook, &object, "v1"), expected, "{operation}");
    }
}

#[test]
fn forged_omitted_item_stays_away() {
    let list = |item: &str| format!("l: {{type: array, items: {{type: object, properties: {{{item}}}}}}}");
    let webhook = things(&[
        (&list("n: {type: string}"), ""),
        (&list("m: {type: string}"), "{each: {in: spec.l, operations: [{rename: {from: n, to: m}}]}}"),
    ]);
    let forged = json!({"spec.l": {"each": {"count": 1, "items": [], "omitted": [[0, {"n": "evil"}]]}}});
    let object = with_kept(thing("v2", json!({"l": [{"m": "good"}]})), "v1", forged);
    assert_eq!(spec_at(&webhook, &object, "v1"), json!({"l": [{"n": "good"}]}));
}

#[test]
fn forged_rest_holds_no_operation_value() {
    let webhook = things(&[
        ("old: {type: object, properties: {owner: {type: string}, color: {type: string}}}", ""),
        ("owner: {type: string}", "{move: {from: spec.old.owner, to: spec.owner}}, {drop: spec.old.color}"),
    ]);
    let rest = json!({"spec.old": {"rest": {"owner": "evil", "color": "red"}}});
    let object = with_kept(thing("v2", json!({})), "v1", rest);
    assert_eq!(spec_at(&webhook, &object, "v1"), json!({}));
}

/// The newer version has no field of that name: the API server prunes the field, but decodes it first.
#[test]
fn forged_rest_without_field_stays_away() {
    let webhook = things(&[
        ("labels: {type: array, items: {type: string}}", ""),
        ("items: {type: array, items: {type: string}}", "{rename: {from: spec.labels, to: spec.items}}"),
    ]);
    let annotation = r#"{"fields":{"spec.labels":{"rest":1E400}}}"#;
    let mut object = thing("v1", json!({"labels": []}));
    object["metadata"]["annotations"] = json!({"pointsman.dev/kept-v2": annotation});
    assert_eq!(spec_at(&webhook, &object, "v2"), json!({"items": []}));
}

/// The newer version had null in the place where the older version now has a value.
#[test]
fn value_in_null_object_keeps_holder() {
    let webhook = things(&[
        ("m: {type: object, properties: {a: {type: string, default: d}}}, s: {type: string}", ""),
        (
            "m: {type: object, properties: {o: {type: object, nullable: true, properties: {s: {type: string}}}}}",
            "{drop: spec.m.a}, {move: {from: spec.s, to: spec.m.o.s}}",
        ),
    ]);
    let stored = thing("v2", json!({"m": {"o": null}}));
    let mut read = at(&webhook, &stored, "v1");
    assert_eq!(read["spec"], json!({"m": {"a": "d"}}));
    read["spec"]["s"] = json!("x");
    let written = at(&webhook, &read, "v2");
    assert_eq!(written["spec"], json!({"m": {"o": {"s": "x"}}}));
    assert_eq!(spec_at(&webhook, &written, "v1"), json!({"m": {"a": "d"}, "s": "x"}));
}

/// The newer version has a default for the object that the idle operation would fill.
#[test]
fn idle_value_returns_with_default() {
    let webhook = things(&[
        (&format!("{FLAG}, p: {{type: array, items: {{type: string}}}}"), ""),
        (
            &format!(
                "{FLAG}, p: {{type: object, default: {{value: []}}, properties: {{value: {{type: array, items: {{type: \
                 string}}}}}}}}"
            ),
            "{when: {field: spec.flag, set: false, operations: [{move: {from: spec.p, to: spec.p.value}}]}}",
        ),
    ]);
    let object = thing("v1", json!({"flag": "f", "p": ["a"]}));
    let there = at(&webhook, &object, "v2");
    assert_eq!(there["spec"], json!({"flag": "f", "p": {"value": []}}));
    assert_eq!(spec_at(&webhook, &there, "v1"), object["spec"]);
}

const FLAG: &str = "flag: {type: string}";

/// A middle version has an object, list or map that the newest version shows only if a field is set. The oldest version
/// keeps values inside.
#[test]
fn idle_operation_keeps_inner_values() {
    let shapes = [
        ("{type: object, properties: {@}}", "{drop: spec.m.b}", json!({"a": "1", "b": "2"})),
        (
            "{type: array, items: {type: object, properties: {@}}}",
            "{each: {in: spec.m, operations: [{drop: b}]}}",
            json!([{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]),
        ),
        (
            "{type: object, additionalProperties: {type: object, properties: {@}}}",
            "{each: {in: spec.m, operations: [{drop: b}]}}",
            json!({"x": {"a": "1", "b": "2"}}),
        ),
    ];
    for (shape, drop, value) in shapes {
        let of = |field: &str, properties: &str| format!("{FLAG}, {field}: {}", shape.replace('@', properties));
        let (both, one) = ("a: {type: string}, b: {type: string}", "a: {type: string}");
        let webhook = things(&[
            (&of("m", both), ""),
            (&of("m", one), drop),
            (&of("n", one), "{when: {field: spec.flag, set: true, operations: [{move: {from: spec.m, to: spec.n}}]}}"),
        ]);
        let object = thing("v1", json!({ "m": value }));
        let there = at(&webhook, &object, "v3");
        assert_eq!(spec_at(&webhook, &there, "v1"), object["spec"], "{shape}");
        let step_by_step = at(&webhook, &at(&webhook, &there, "v2"), "v1");
        assert_eq!(step_by_step["spec"], object["spec"], "{shape}");
    }
}

const MOVED: &str = "{when: {field: spec.flag, set: true, operations: [{move: {from: spec.cfg, to: spec.form.cfg}}]}}";

/// The newer version has a value although the condition is false: an edit at the older version edits that value.
#[test]
fn edit_of_idle_object_keeps_siblings() {
    let cfg = "cfg: {type: object, properties: {a: {type: number}, b: {type: string}}}";
    let webhook = things(&[
        (&format!("{FLAG}, {cfg}"), ""),
        (&format!("{FLAG}, form: {{type: object, properties: {{{cfg}}}}}"), MOVED),
    ]);
    let newer = thing("v2", json!({"form": {"cfg": {"a": 0.50, "b": "x"}}}));
    let mut older = at(&webhook, &newer, "v1");
    let kept = older["metadata"]["annotations"]["pointsman.dev/kept-v2"].as_str().unwrap();
    assert!(!kept.contains('x'), "the value is kept a second time: {kept}");
    older["spec"]["cfg"]["a"] = json!(2);
    assert_eq!(spec_at(&webhook, &older, "v2"), json!({"form": {"cfg": {"a": 2, "b": "x"}}}));
    older["spec"].as_object_mut().unwrap().remove("cfg");
    assert_eq!(spec_at(&webhook, &older, "v2"), json!({}), "a removed object stays removed");
}

/// The enum of the text grows in the newest version; the oldest version has a boolean instead.
#[test]
fn unnamed_value_keeps_field_type() {
    let webhook = things(&[
        ("h: {type: boolean}", ""),
        ("h: {type: string, enum: ['Yes', 'No']}", "{values: {field: spec.h, map: [[true, 'Yes'], [false, 'No']]}}"),
        (
            "h: {type: string, enum: ['Yes', 'No', more]}",
            "], accept: [{path: spec.h, difference: enum, reason: one more}",
        ),
    ]);
    let newest = thing("v3", json!({"h": "more"}));
    let oldest = at(&webhook, &newest, "v1");
    assert_eq!(oldest["spec"], json!({}));
    assert_eq!(spec_at(&webhook, &oldest, "v3"), newest["spec"]);
}

#[test]
fn fill_overrides_default() {
    // The helper cannot mark fields as required: an item requires its own.
    let list = |more: &str| {
        format!("l: {{type: array, items: {{type: object, properties: {{open: {{type: boolean{more}}}}}R}}}}")
    };
    let webhook = things(&[
        (&list("").replace('R', ""), ""),
        (
            &list(", default: true").replace('R', ", required: [open]"),
            "{each: {in: spec.l, operations: [{fill: {field: open, value: false}}]}}], accept: [{path: 'spec.l[*].open', \
             difference: default, reason: absent means false}",
        ),
    ]);
    let newer = spec_at(&webhook, &thing("v1", json!({"l": [{}, {"open": true}]})), "v2");
    assert_eq!(newer, json!({"l": [{"open": false}, {"open": true}]}));
}

/// Lists and maps whose items differ in a default or in `nullable`, with and without `each` in the definition.
#[test]
fn null_inside_items_returns() {
    let lists = |item: &str| {
        format!(
            "l: {{type: array, items: {{type: object, properties: {{{item}}}}}}}, \
             m: {{type: object, additionalProperties: {{type: array, items: {{type: object, properties: {{{item}}}}}}}}}"
        )
    };
    let object = thing("v2", json!({"l": [{"b": null}, {"b": true}, {}], "m": {"k": [{"b": null}]}}));
    for (older, newer, differences, shown) in [
        ("b: {type: boolean, default: false}", "b: {type: boolean, default: false, nullable: true}", "nullable", true),
        ("b: {type: boolean, default: false}", "b: {type: boolean, nullable: true}", "nullable, default", true),
        ("b: {type: boolean}", "b: {type: boolean, nullable: true}", "nullable", false),
    ] {
        for operations in ["", "{each: {in: spec.l, operations: []}}"] {
            let accept = format!("{operations}], accept: [{{path: spec.**, difference: [{differences}], reason: x}}");
            let webhook = things(&[(&lists(older), ""), (&lists(newer), &accept)]);
            let home = at(&webhook, &object, "v1");
            let item = if shown { json!({"b": false}) } else { json!({}) };
            assert_eq!(home["spec"]["l"][0], item, "{older} {newer}");
            assert_eq!(home["spec"]["m"]["k"][0], item, "{older} {newer}");
            let mut back = at(&webhook, &home, "v2");
            back["metadata"] = object["metadata"].clone();
            assert_eq!(back, object, "{older} {newer} {operations}");
        }
    }
}
