//! Fields that a version requires and that a conversion need not make.

use super::expect::{HEAD, crd, problems_of, step};

fn spec(required: &str, properties: &str) -> String {
    format!("required: [{required}], properties: {{{properties}}}")
}

/// A step from an older to a newer `spec`, with one operation in line 8.
#[track_caller]
fn refused(older: &str, newer: &str, operation: &str, why: &str) {
    let definition = format!("{HEAD}steps:\n- from: v1\n  to: v2\n  operations:\n  - {operation}\n");
    let problems = problems_of(&definition, &crd(older, newer));
    assert_eq!(problems, format!("thing.yaml:8: {why}"));
}

#[track_caller]
fn fine(older: &str, newer: &str, operation: &str) {
    step(older, newer, &format!("  - {operation}\n"), "fine");
}

#[test]
fn required_field_needs_a_value() {
    let (none, some) = (spec("", "b: {type: string}"), |more: &str| {
        spec("a", &format!("a: {{type: string{more}}}, b: {{type: string}}"))
    });
    let why = |operation: &str, version: &str, other: &str| {
        format!(
            "spec.a: the {version} version requires the field, and the {other} version has no value: write \
             `{operation}: {{field: spec.a, value: \"\"}}` in place of line 8, or give spec.a a `default` in the {version} \
             schema, such as \"\", or {}",
            lacking("spec.a")
        )
    };
    refused(&some(""), &none, "drop: spec.a", &why("drop", "older", "newer"));
    refused(&none, &some(""), "add: spec.a", &why("add", "newer", "older"));
    fine(&some(", default: x"), &none, "drop: spec.a");
    fine(&some(""), &none, "drop: {field: spec.a, value: x}");
    fine(&none, &some(""), "add: {field: spec.a, value: x}");
}

fn one(required: &str, name: &str, kind: &str) -> String {
    spec(required, &format!("{name}: {kind}"))
}

/// The error for a required field that may be missing, with its remedy.
fn missing(field: &str, version: &str, reason: &str, advice: &str) -> String {
    let lacking = lacking(field);
    format!("{field}: the {version} version requires the field, and {reason}: {lacking}, or {advice}")
}

/// The remedy for a field that objects usually have.
fn lacking(field: &str) -> String {
    format!(
        "`accept: {{path: {field}, difference: required, reason: …}}` if stored objects have the field (an object without \
         it stays readable, and `plan` names it)"
    )
}

/// The remedy: a default such as the example, or two unrelated fields.
fn default_or(field: &str, version: &str, example: &str, [drop, add]: [&str; 2]) -> String {
    format!(
        "give {field} a `default` in the {version} schema, such as {example}, or write `drop: {drop}` and `add: {add}` in \
         place of line 8, so that each version keeps its own field, hidden from readers of the other version"
    )
}

const TEXT: &str = "{type: string}";
/// `spec.a` with an empty text where it is missing.
const TEXT_A: &str = "{field: spec.a, value: \"\"}";

#[test]
fn newly_required_must_always_exist() {
    let need_not = |field: &str, version: &str| format!("{field} of the {version} version is optional");
    let rename = "rename: {from: spec.a, to: spec.b}";
    refused(
        &one("", "a", TEXT),
        &one("b", "b", TEXT),
        rename,
        &missing(
            "spec.b",
            "newer",
            &need_not("spec.a", "older"),
            &default_or("spec.b", "newer", "\"\"", ["spec.a", "{field: spec.b, value: \"\"}"]),
        ),
    );
    refused(
        &one("a", "a", TEXT),
        &one("", "b", TEXT),
        rename,
        &missing(
            "spec.a",
            "older",
            &need_not("spec.b", "newer"),
            &default_or("spec.a", "older", "\"\"", [TEXT_A, "spec.b"]),
        ),
    );
    fine(&one("a", "a", TEXT), &one("b", "b", TEXT), rename);
}

#[test]
fn required_type_must_fit_all_values() {
    let need_not = |field: &str, version: &str| format!("{field} of the {version} version is optional");
    refused(
        &one("", "a", TEXT),
        &one("a", "a", "{type: boolean}"),
        "type: spec.a",
        &missing(
            "spec.a",
            "newer",
            "some values of spec.a have no representation in the other version",
            &default_or("spec.a", "newer", "false", ["spec.a", "{field: spec.a, value: false}"]),
        ),
    );
    refused(
        &one("", "a", "{type: integer}"),
        &one("a", "a", TEXT),
        "type: spec.a",
        &missing(
            "spec.a",
            "newer",
            &need_not("spec.a", "older"),
            &default_or("spec.a", "newer", "\"\"", ["spec.a", TEXT_A]),
        ),
    );
    refused(
        &one("a", "a", TEXT),
        &one("a", "a", "{type: integer}"),
        "type: spec.a",
        &missing(
            "spec.a",
            "newer",
            "some values of spec.a have no representation in the other version",
            &default_or("spec.a", "newer", "0", [TEXT_A, "{field: spec.a, value: 0}"]),
        ),
    );
    fine(
        &one("a", "a", "{type: string, enum: ['80', '443']}"),
        &one("a", "a", "{type: integer, enum: [80, 443]}"),
        "type: spec.a",
    );
    fine(&one("", "a", "{type: boolean}"), &one("", "a", "{type: string, enum: ['true', 'false']}"), "type: spec.a");
    fine(
        &one("a", "a", "{type: boolean}"),
        &one("a", "a", "{type: string, enum: ['true', 'false'], pattern: e}"),
        "type: spec.a",
    );
}

#[test]
fn optional_result_is_not_required() {
    refused(
        &one("a", "a", TEXT),
        &one("a", "a", TEXT),
        "blank: {field: spec.a, spellings: ['']}",
        &missing(
            "spec.a",
            "newer",
            "the field is absent in the newer version for a value that means \"unset\"",
            &default_or("spec.a", "newer", "\"\"", [TEXT_A, TEXT_A]),
        ),
    );
    let list = |more: &str| format!("{{type: array, items: {TEXT}{more}}}");
    refused(
        &one("a", "a", TEXT),
        &one("a", "a", &list("")),
        "wrap: spec.a",
        &missing(
            "spec.a",
            "older",
            "an empty spec.a has no first element (set `minItems: 1`)",
            &default_or("spec.a", "older", "\"\"", [TEXT_A, "{field: spec.a, value: []}"]),
        ),
    );
    fine(&one("a", "a", TEXT), &one("a", "a", &list(", minItems: 1")), "wrap: spec.a");
    refused(
        &one("a", "a", TEXT),
        &spec("b, c", "b: {type: string}, c: {type: string}"),
        "split: {field: spec.a, into: [spec.b, spec.c], separator: ':'}",
        &missing(
            "spec.c",
            "newer",
            "a string with fewer parts has no such part",
            "no operation can express the difference, because `split` with several fields fills in no field: give spec.c a `default` in \
             the newer schema, such as \"\"",
        ),
    );
    refused(
        &one("a", "a", TEXT),
        &spec("b, c", "b: {type: string}, c: {type: string}"),
        "compute: {from: spec.a, to: {b: spec.b, c: spec.c}, up: {b: value, c: value}, down: b, fillTo: {b: x}, fillFrom: x}",
        &missing(
            "spec.c",
            "newer",
            "an expression may return no value",
            "add a value for the field with `fillTo` to the `compute`, or give spec.c a `default` in the newer schema, such as \"\"",
        ),
    );
    let map = "m: {type: object, additionalProperties: {type: string}}";
    refused(
        &spec("a", &format!("a: {TEXT}, {map}")),
        &spec("", map),
        "moveIntoMap: {field: spec.a, map: spec.m, key: a}",
        &missing(
            "spec.a",
            "older",
            "an entry of the newer version stays an entry",
            "no operation can express the difference, because `moveIntoMap` with several fields fills in no field: give spec.a a \
             `default` in the older schema, such as \"\"",
        ),
    );
}

#[test]
fn created_object_has_required_fields() {
    let net = |required: &str, more: &str| {
        format!(
            "net: {{type: object, required: [{required}], properties: {{port: {{type: integer{more}}}, mode: {{type: string}}}}}}"
        )
    };
    let older = |required: &str| spec(required, "mode: {type: string}, port: {type: integer}");
    let both = "  - move: {from: spec.mode, to: spec.net.mode}\n  - move: {from: spec.port, to: spec.net.port}\n";
    step(
        &older(""),
        &spec("", &net("port", "")),
        both,
        &format!(
            "thing.yaml:8: spec.net.mode: a value there creates spec.net, in which the newer version requires port, and \
             spec.port of the older version is optional: {lacking}, or {default}\n\
             thing.yaml:9: spec.net.port: the newer version requires the field, and spec.port of the older version is \
             optional: {lacking}, or {default}",
            lacking = lacking("spec.net.port"),
            default = "give spec.net.port a `default` in the newer schema, such as 0, or write `drop: spec.port` and `add: \
             {field: spec.net.port, value: 0}` in place of line 9, so that each version keeps its own field, hidden from \
             readers of the other version"
        ),
    );
    step(
        &older(""),
        &spec("net", &net("", "")),
        both,
        &format!(
            "thing.yaml:5: spec.net: the newer version requires the field, and spec.mode of the older version is optional: \
             {}, or no operation can express the difference, because operations inside of an object fill in no object: give \
             spec.net a `default` in the newer schema, such as {{}}",
            lacking("spec.net")
        ),
    );
    step(&older("port"), &spec("net", &net("port", "")), both, "fine");
    let accept = "  accept:\n  - {path: spec.port, difference: default, reason: what everybody used}\n";
    step(&older(""), &spec("", &net("port", ", default: 80")), &format!("{both}{accept}"), "fine");
}

#[test]
fn nullable_source_guarantees_nothing() {
    let older = |null: &str| {
        format!(
            "required: [h], properties: {{h: {{type: object{null}, required: [a], properties: {{a: {{type: string}}}}}}}}"
        )
    };
    let newer = |null: &str| {
        format!("required: [b, h], properties: {{b: {{type: string}}, h: {{type: object{null}, properties: {{}}}}}}")
    };
    let (moved, null) = ("move: {from: spec.h.a, to: spec.b}", ", nullable: true");
    refused(
        &older(null),
        &newer(null),
        moved,
        &missing(
            "spec.b",
            "newer",
            "spec.h.a of the older version is optional",
            &default_or("spec.b", "newer", "\"\"", ["{field: spec.h.a, value: \"\"}", "{field: spec.b, value: \"\"}"]),
        ),
    );
    fine(&older(""), &newer(""), moved);
}

#[test]
fn items_follow_the_same_rules() {
    let list = |item: &str| format!("properties: {{l: {{type: array, items: {{type: object, {item}}}}}}}");
    let (none, some) =
        ("properties: {b: {type: string}}", "required: [a], properties: {a: {type: string}, b: {type: string}}");
    refused(
        &list(some),
        &list(none),
        "each: {in: spec.l, operations: [{drop: a}]}",
        &format!(
            "spec.l[*].a: the older version requires the field, and the newer version has no value: write `each: {{in: \
             spec.l, operations: [{{drop: {{field: a, value: \"\"}}}}]}}` in place of line 8, or give spec.l[*].a a `default` in \
             the older schema, such as \"\", or {}",
            lacking("'spec.l[*].a'")
        ),
    );
    fine(&list(some), &list(none), "each: {in: spec.l, operations: [{drop: {field: a, value: x}}]}");
}

#[test]
fn items_are_compared_under_their_operations() {
    let list = |item: &str| format!("properties: {{l: {{type: array, items: {item}}}}}");
    let each = |operations: &str| format!("each: {{in: spec.l, operations: [{operations}]}}");
    let differs = |name: &str, older: &str, newer: &str| {
        format!(
            "spec.l[*]: {name} differs without an operation (older: {older}; newer: {newer}): add an operation, or `accept: \
             {{path: 'spec.l[*]', difference: {name}, reason: …}}`"
        )
    };
    let at_step = |older: &str, newer: &str, operations: &str, why: &str| {
        step(&list(older), &list(newer), &format!("  - {}\n", each(operations)), &format!("thing.yaml:8: {why}"));
    };
    at_step("{type: string, enum: [a, b]}", "{type: string, enum: [a]}", "", &differs("enum", "\"a\" \"b\"", "\"a\""));
    at_step("{type: string}", "{type: string, maxLength: 3}", "", &differs("maxLength", "none", "3"));
    at_step(
        "{type: string}",
        "{type: integer}",
        "",
        "spec.l[*]: type differs without an operation (older: string; newer: integer), and cannot be accepted: \
         write `each: {in: spec.l, operations: [{type: .}]}`",
    );
    // One operation maps the whole older item; every other field of the newer item needs an operation.
    let object = "{type: object, properties: {name: {type: string}, weight: {type: integer}}}";
    at_step(
        "{type: string}",
        object,
        "{move: {from: ., to: name}}",
        "spec.l[*].weight: only the newer version has the field, and no operation explains the difference: add `each: {in: spec.l, operations: \
         [{add: weight}]}`, so that readers of the older version do not see the field, or `rename`/`move` to it",
    );
    step(
        &list("{type: string}"),
        &list(object),
        &format!("  - {}\n  - {}\n", each("{move: {from: ., to: name}}"), each("{add: weight}")),
        "fine",
    );
}
