use super::expect::{HEAD, SAME, crd, problems_of, step};

#[test]
fn operations_that_cannot_be_read() {
    step(
        SAME,
        SAME,
        "  - dorp: spec.image\n",
        r#"thing.yaml:8: unknown operation "dorp", did you mean "drop"? Known names: add, blank, clamp, compute, drop, each, fill, move, moveIntoMap, rename, split, type, values, when, wrap"#,
    );
    step(
        SAME,
        SAME,
        "  - move: {from: spec.image, too: spec.replicas}\n",
        r#"thing.yaml:8: unknown key "too", did you mean "to"? Known names: from, to, operations"#,
    );
    step(
        SAME,
        SAME,
        "  - drop: [spec.image]\n",
        "thing.yaml:8: takes a path, quoted if YAML reads the path as a number or a boolean (n, y), or {field: PATH, value: VALUE}",
    );
    step(SAME, SAME, "  - values: {field: spec.image}\n", "thing.yaml:8: the key \"map\" is missing");
    step(
        SAME,
        SAME,
        "  - values: {from: spec.image, map: {a: b}}\n",
        "thing.yaml:8: values: needs either `field`, or `from` and `to`",
    );
    step(
        SAME,
        SAME,
        "  - drop: spec.image\n    add: spec.image\n",
        "thing.yaml:9: two operations in one entry: begin each with `- `",
    );
}

#[test]
fn fields_of_expressions_have_valid_names() {
    let named =
        |name: &str| format!("  - compute: {{from: {{{name}: spec.image}}, to: spec.image, up: '1', down: 'value'}}\n");
    let problem = |name: &str| {
        let problems = problems_of(
            &format!("{HEAD}steps:\n- from: v1\n  to: v2\n  operations:\n{}", named(name)),
            &crd(SAME, SAME),
        );
        problems.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        problem("namespace"),
        "thing.yaml:8: compute: \"namespace\" is a reserved word of expressions: give the field another name, such as namespace_"
    );
    assert_eq!(
        problem("a-b"),
        "thing.yaml:8: compute: \"a-b\" is no name for an expression: use letters, digits and _"
    );
}

#[test]
fn bad_expression_is_the_only_problem() {
    step(
        "properties: {a: {type: string}}",
        "properties: {b: {type: string}}",
        "  - compute: {from: spec.a, to: spec.b, up: foo(value), down: value}\n",
        "thing.yaml:8: compute: `up` of spec.b: no function `foo`",
    );
}

#[test]
fn paths_that_no_schema_has() {
    step(
        SAME,
        SAME,
        "  - drop: spec.imgae\n",
        r#"thing.yaml:8: spec.imgae: the older version has no "imgae" there, did you mean "image"?"#,
    );
    step(
        SAME,
        SAME,
        "  - rename: {from: spec.image, to: spec.relpicas}\n",
        r#"thing.yaml:8: spec.relpicas: the newer version has no "relpicas" there, did you mean "replicas"?"#,
    );
    step(
        SAME,
        SAME,
        "  - drop: sepc.image\n",
        r#"thing.yaml:8: sepc.image: the older version has no "sepc" there, did you mean "spec"?"#,
    );
    step(SAME, SAME, "  - drop: spec..image\n", r#"thing.yaml:8: path "spec..image": an empty name"#);
    step(
        SAME,
        SAME,
        "  - drop: metadata.labels\n",
        "thing.yaml:8: metadata.labels: in the metadata, an operation can change only an annotation or a label: write \
         `metadata.annotations[\"KEY\"]` or `metadata.labels[\"KEY\"]`",
    );
    step(
        SAME,
        SAME,
        "  - drop: spec.image\n",
        "thing.yaml:5: spec.image: only the newer version has the field, and no operation explains the difference: add `add: spec.image`, so that readers of the older version do not see the field, or `rename`/`move` to it\nthing.yaml:8: drop: the newer version has spec.image too",
    );
    let list = "properties: {items: {type: array, items: {type: object, properties: {name: {type: string}}}}}";
    step(
        list,
        list,
        "  - each: {in: spec.items, operations: [{drop: nmae}]}\n",
        r#"thing.yaml:8: nmae: the older version has no "nmae" there, did you mean "name"?"#,
    );
    step(
        SAME,
        SAME,
        "  - each: {in: spec.image, operations: [{drop: name}]}\n",
        "thing.yaml:8: each: spec.image is no list and no map in both versions",
    );
}

#[test]
fn two_operations_on_one_field() {
    let more = "properties: {image: {type: string}, replicas: {type: integer}, size: {type: object, properties: {cpu: {type: string}}}}";
    step(
        more,
        SAME,
        "  - drop: spec.size\n  - drop: spec.size\n",
        "thing.yaml:9: two operations on one field: spec.size here and spec.size in line 8",
    );
    step(
        more,
        SAME,
        "  - drop: spec.size\n  - drop: spec.size.cpu\n",
        "thing.yaml:9: two operations on one field: spec.size.cpu here and spec.size in line 8",
    );
}

#[test]
fn a_definition_without_mistakes_is_fine() {
    step(SAME, SAME, "", "fine");
}

#[test]
fn field_is_replaced_by_namesake() {
    let (a, b) = ("properties: {a: {type: string}}", "properties: {b: {type: string}}");
    let both = "properties: {a: {type: string}, b: {type: integer}}";
    step(
        both,
        "properties: {a: {type: integer}}",
        "  - drop: spec.a\n  - rename: {from: spec.b, to: spec.a}\n",
        "fine",
    );
    step("properties: {a: {type: integer}}", both, "  - add: spec.a\n  - rename: {from: spec.a, to: spec.b}\n", "fine");
    step(a, "properties: {a: {type: integer}}", "  - drop: spec.a\n  - add: spec.a\n", "fine");
    step(
        b,
        both,
        "  - rename: {from: spec.b, to: spec.a}\n",
        "thing.yaml:5: spec.b: only the newer version has the field, and no operation explains the difference: add `add: spec.b`, so that readers of the older version do not see the field, or `rename`/`move` to it",
    );
}

#[test]
fn metadata_names_are_ordinary_inside() {
    let list = |name: &str| {
        format!(
            "properties: {{refs: {{type: array, items: {{type: object, properties: {{{name}: {{type: string}}}}}}}}}}"
        )
    };
    for name in ["kind", "apiVersion", "metadata"] {
        let operation = format!("  - each: {{in: spec.refs, operations: [{{rename: {{from: {name}, to: other}}}}]}}\n");
        step(&list(name), &list("other"), &operation, "fine");
    }
}

#[test]
fn ways_into_lists() {
    let list = |more: &str| {
        format!(
            "properties: {{a: {{type: array, items: {{type: object, properties: {{b: {{type: string}}{more}}}}}}}}}"
        )
    };
    step(
        &list(", c: {type: string}"),
        &list(""),
        "  - drop: spec.a.c\n",
        "thing.yaml:5: spec.a[*].c: only the older version has the field, and no operation explains the difference: add `each: {in: spec.a, operations: [{drop: c}]}`, so that readers of the newer version do not see the field, or `rename`/`move` it\nthing.yaml:8: spec.a.c: the older version has no \"c\" there: spec.a is a list; write the operation under `each: {in: spec.a, operations: […]}`, for c",
    );
    step(
        &list(", c: {type: string}"),
        &list(""),
        "  - rename: {from: 'spec.a[*].c', to: spec.d}\n",
        "thing.yaml:5: spec.a[*].c: only the older version has the field, and no operation explains the difference: add `each: {in: spec.a, operations: [{drop: c}]}`, so that readers of the newer version do not see the field, or `rename`/`move` it\nthing.yaml:8: path \"spec.a[*].c\": items are reached by `each: {in: spec.a, operations: […]}`; inside, the path is c\nthing.yaml:8: spec.d: the newer version has no \"d\" there",
    );
    // A path as in messages is a pattern.
    step(&list(", c: {type: string}"), &list(""), "  - drop: spec.a[*].c\n", "fine");
    // As two messages advise it.
    step(
        &list(", c: {type: string}, d: {type: string}"),
        &list(""),
        "  - each: {in: spec.a, operations: [{drop: c}]}\n  - each: {in: spec.a, operations: [{drop: d}]}\n",
        "fine",
    );
    step(
        &list(", c: {type: string}, d: {type: string}"),
        &list(""),
        "  - each: {in: spec.a, key: b, operations: [{drop: c}]}\n  - each: {in: spec.a, key: c, operations: [{drop: d}]}\n",
        "thing.yaml:8: each: spec.a has two keys",
    );
}

#[test]
fn mapped_values_are_checked() {
    let field = |options: &str| format!("properties: {{a: {{type: string, enum: [{options}]}}}}");
    let values = |map: &str| format!("  - values: {{field: spec.a, map: {map}}}\n");
    step(
        &field("Running"),
        &field("Running, Updating"),
        &values("{Running: Running}"),
        "thing.yaml:8: spec.a: enum differs without an operation (older: none; newer: \"Updating\"): add an operation, or `accept: {path: spec.a, difference: enum, reason: …}`",
    );
    step(&field("Running"), &field("Running, Updating"), &values("[[Running, Running], [Running, Updating]]"), "fine");
    step(&field("x"), &field("'y'"), &values("{x: 'y'}"), "fine");
    step(
        &field("x"),
        &field("x, 'y'"),
        &values("{x: y}"),
        "thing.yaml:8: values: spec.a cannot be true: quote the value (YAML reads y, n, yes, no, on and off as booleans)\nthing.yaml:8: spec.a: enum differs without an operation (older: none; newer: \"x\" \"y\"): add an operation, or `accept: {path: spec.a, difference: enum, reason: …}`",
    );
    step(
        &field("x"),
        &field("'y'"),
        &values("{}"),
        "thing.yaml:8: values: `map` is empty: add at least one value\nthing.yaml:8: spec.a: enum differs without an operation (older: \"x\"; newer: \"y\"): add an operation, or `accept: {path: spec.a, difference: enum, reason: …}`",
    );
}

#[test]
fn string_becomes_map_entry() {
    let map = |more: &str, kind: &str| {
        format!("properties: {{{more}m: {{type: object, additionalProperties: {{type: {kind}}}}}}}")
    };
    let operation = |key: &str| format!("  - moveIntoMap: {{field: spec.a, map: spec.m, key: '{key}'}}\n");
    for key in ["a", "a\"b", "a\\b", "a\"].b"] {
        step(&map("a: {type: string, minLength: 1}, ", "string"), &map("", "string"), &operation(key), "fine");
    }
    step(
        &map("a: {type: string}, ", "integer"),
        &map("", "integer"),
        &operation("a"),
        "thing.yaml:8: spec.a: type differs without an operation (older: string; newer: integer), and cannot be accepted: `moveIntoMap` changes no types: write `drop: spec.a` in place of line 8, so that readers of the newer version do not see the field",
    );
}

#[test]
fn numbers_and_names_that_cannot_be() {
    let older = "properties: {a: {type: integer}, b: {type: string}}";
    step(
        older,
        "properties: {b: {type: string}}",
        "  - drop: {field: spec.a, value: 99999999999999999999}\n",
        "thing.yaml:8: drop: spec.a cannot be 100000000000000000000",
    );
    step(
        "properties: {a: {type: string}}",
        "properties: {b: {type: string}}",
        "  - split: {field: spec.a, into: [spec.b, spec.b], separator: ':'}\n",
        "thing.yaml:8: split: spec.b occurs twice",
    );
    step(
        older,
        older,
        "  - drop: 5\n",
        "thing.yaml:8: takes a path, quoted if YAML reads the path as a number or a boolean (n, y), or {field: PATH, value: VALUE}",
    );
    step(
        "properties: {a: {type: integer}}",
        "properties: {b: {type: string}}",
        "  - rename: {from: spec.a, to: spec.b}\n",
        "thing.yaml:8: spec.a: type differs without an operation (older: integer; newer: string), and cannot be accepted: write `type: {from: spec.a, to: spec.b}` for `rename`",
    );
}

#[test]
fn blanks_are_all_that_may_differ() {
    let field = |more: &str| format!("properties: {{a: {{type: string{more}}}}}");
    let blank = "  - blank: {field: spec.a, spellings: ['', none]}\n";
    step(&field(", enum: ['', none, a], default: ''"), &field(", enum: [a], minLength: 1"), blank, "fine");
    step(&field(", nullable: true"), &field(""), blank, "fine");
    for (older, newer, name, says) in [
        (", enum: [none, a, b]", ", enum: [a]", "enum", "older: \"a\" \"b\"; newer: \"a\""),
        ("", ", nullable: true", "nullable", "older: false; newer: true"),
        ("", ", format: uuid", "format", "older: none; newer: uuid"),
        ("", ", maxLength: 3", "maxLength", "older: none; newer: 3"),
        (", default: a", "", "default", "older: \"a\"; newer: none"),
    ] {
        let end = match name {
            "nullable" => ", and cannot be accepted: a null would be readable but not writable in that version: write `drop: spec.a` and \
                           `add: spec.a` in place of line 8, so that each version keeps its own field, hidden from readers of the other version, or make both schemas equal"
                .to_owned(),
            _ => format!(": add an operation, or `accept: {{path: spec.a, difference: {name}, reason: …}}`"),
        };
        let expected = format!("thing.yaml:8: spec.a: {name} differs without an operation ({says}){end}");
        step(&field(older), &field(newer), blank, &expected);
    }
}

#[test]
fn single_element_list_must_fit() {
    let list = |bound: &str| format!("properties: {{a: {{type: array, items: {{type: string}}, {bound}}}}}");
    for bound in ["minItems: 2", "maxItems: 0"] {
        step(
            "properties: {a: {type: string}}",
            &list(bound),
            "  - wrap: spec.a\n",
            &format!(
                "thing.yaml:8: wrap: spec.a has {bound}, so the API server refuses a list with one element: remove the bound; or write `drop: spec.a` and `add: spec.a` in place of line 8, so that each version keeps its own field, hidden from readers of the other version"
            ),
        );
    }
    step("properties: {a: {type: string}}", &list("minItems: 1"), "  - wrap: spec.a\n", "fine");
}

#[test]
fn conditional_object_has_no_default() {
    let object = |name: &str, more: &str| {
        format!("mode: {{type: string}}, {name}: {{type: object{more}, properties: {{a: {{type: string}}}}}}")
    };
    let fields = |text: String| format!("properties: {{{text}}}");
    let moved = "move: {from: spec.one, to: spec.two, operations: []}";
    let conditional = format!("  - when: {{field: spec.mode, set: true, operations: [{moved}]}}\n");
    let (plain, filled) = (fields(object("two", "")), fields(object("two", ", default: {a: x}")));
    let expected = "thing.yaml:8: move: under `when`, spec.two cannot take `operations`, because the default of spec.two fills the \
                    object: set a default on each field in the CRD, or convert with `compute`";
    step(&fields(object("one", "")), &filled, &conditional, expected);
    step(&fields(object("one", "")), &plain, &conditional, "fine");
    step(&fields(object("one", "")), &filled, &format!("  - {moved}\n"), "fine");
}
