use super::expect::{HEAD, SAME, check, crd, difference, difference_of, problems_of, step};

#[test]
fn unexplained_one_sided_fields_are_refused() {
    let more = "properties: {image: {type: string}, replicas: {type: integer}, size: {type: string}}";
    step(
        more,
        SAME,
        "",
        "thing.yaml:5: spec.size: only the older version has the field, and no operation explains the difference: add `drop: spec.size`, so that readers of the newer version do not see the field, or `rename`/`move` it",
    );
    step(
        SAME,
        more,
        "",
        "thing.yaml:5: spec.size: only the newer version has the field, and no operation explains the difference: add `add: spec.size`, so that readers of the older version do not see the field, or `rename`/`move` to it",
    );
    let list =
        |more: &str| format!("{{type: array, items: {{type: object, properties: {{name: {{type: string}}{more}}}}}}}");
    difference(
        &list(", size: {type: string}"),
        &list(""),
        "thing.yaml:5: spec.a[*].size: only the older version has the field, and no operation explains the difference: add `each: {in: spec.a, operations: [{drop: size}]}`, so that readers of the newer version do not see the field, or `rename`/`move` it",
    );
    let lists = |more: &str| {
        let inner = list(more);
        format!("{{type: array, items: {{type: object, properties: {{name: {{type: string}}, b: {inner}}}}}}}")
    };
    difference(
        &lists(", size: {type: string}"),
        &lists(""),
        "thing.yaml:5: spec.a[*].b[*].size: only the older version has the field, and no operation explains the difference: add `each: {in: spec.a, operations: [{each: {in: b, operations: [{drop: size}]}}]}`, so that readers of the newer version do not see the field, or `rename`/`move` it",
    );
    let map = |more: &str| {
        format!(
            "{{type: object, additionalProperties: {{type: object, properties: {{name: {{type: string}}{more}}}}}}}"
        )
    };
    difference(
        &map(""),
        &map(", size: {type: string}"),
        "thing.yaml:5: spec.a[*].size: only the newer version has the field, and no operation explains the difference: add `each: {in: spec.a, operations: [{add: size}]}`, so that readers of the older version do not see the field, or `rename`/`move` to it",
    );
}

/// Two types of `spec.a`, and a difference that can be accepted by its name.
#[track_caller]
fn may_be_accepted(older: &str, newer: &str, name: &str, says: &str) {
    difference(
        older,
        newer,
        &format!(
            "thing.yaml:5: spec.a: {name} differs without an operation ({says}): add an operation, or `accept: {{path: \
             spec.a, difference: {name}, reason: …}}`"
        ),
    );
    let accept = format!("  accept:\n  - {{path: spec.a, difference: {name}, reason: meant}}\n");
    check(difference_of(older, newer, &accept), "fine");
}

/// The same for one that cannot be, at a path.
#[track_caller]
fn may_not_be_accepted(older: &str, newer: &str, path: &str, name: &str, says: &str, reason: &str) {
    let expected = |line: u64| {
        format!(
            "thing.yaml:{line}: {path}: {name} differs without an operation ({says}), and cannot be accepted: \
             {reason}"
        )
    };
    difference(older, newer, &expected(5));
    let accept = format!("  accept:\n  - {{path: '{path}', difference: {name}, reason: meant}}\n");
    check(difference_of(older, newer, &accept), &expected(8));
}

const APART: &str = "write `drop: spec.a` and `add: spec.a`, so that each version keeps its own field, hidden from readers of the other version";

#[test]
fn unexplained_differences_are_refused() {
    may_be_accepted("{type: string}", "{type: string, format: uuid}", "format", "older: none; newer: uuid");
    may_be_accepted(
        "{type: string, enum: [a, b]}",
        "{type: string, enum: [a]}",
        "enum",
        r#"older: "a" "b"; newer: "a""#,
    );
    may_be_accepted("{type: integer, minimum: 0}", "{type: integer, minimum: 1}", "minimum", "older: 0; newer: 1");
    may_be_accepted("{type: string, pattern: \"^a$\"}", "{type: string}", "pattern", r#"older: "^a$"; newer: none"#);
    difference("{type: string, minLength: 0}", "{type: string}", "fine");
    difference("{type: integer, exclusiveMinimum: false}", "{type: integer}", "fine");
    may_be_accepted("{type: string, nullable: true}", "{type: string}", "nullable", "older: true; newer: false");
    may_be_accepted("{type: string, default: a}", "{type: string, default: b}", "default", r#"older: "a"; newer: "b""#);
    let rules =
        |rule: &str| format!("{{type: integer, x-kubernetes-validations: [{{rule: self > 0}}, {{rule: {rule}}}]}}");
    may_be_accepted(
        &rules("self < 9"),
        &rules("self < 10"),
        "x-kubernetes-validations",
        "older: self < 9; newer: self < 10",
    );
    let list = |more: &str| {
        let name = "name: {type: string, default: a}, key: {type: string, default: a}";
        format!("{{type: array, items: {{type: object, properties: {{{name}}}}}{more}}}")
    };
    may_be_accepted(
        &list(", x-kubernetes-list-type: set"),
        &list(", x-kubernetes-list-type: atomic"),
        "x-kubernetes-list-type",
        "older: set; newer: atomic",
    );
    let keys = |key: &str| list(&format!(", x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [{key}]"));
    may_be_accepted(&keys("name"), &keys("key"), "x-kubernetes-list-map-keys", "older: name; newer: key");
}

#[test]
fn wider_types_can_be_accepted() {
    let says = |older: &str, newer: &str| format!("older: {older}; newer: {newer}");
    let of = |kind: &str| match kind {
        "int-or-string" => "{x-kubernetes-int-or-string: true}".to_owned(),
        "array" => "{type: array, items: {type: string}}".to_owned(),
        kind => format!("{{type: {kind}}}"),
    };
    for (one, two) in [("integer", "number"), ("integer", "int-or-string"), ("string", "int-or-string")] {
        may_be_accepted(&of(one), &of(two), "type", &says(one, two));
        may_be_accepted(&of(two), &of(one), "type", &says(two, one));
    }
    for (one, two) in [("string", "integer"), ("string", "boolean"), ("boolean", "number")] {
        let reason = "write `type: spec.a`";
        may_not_be_accepted(&of(one), &of(two), "spec.a", "type", &says(one, two), reason);
        may_not_be_accepted(&of(two), &of(one), "spec.a", "type", &says(two, one), reason);
    }
    may_not_be_accepted(
        &of("string"),
        &of("array"),
        "spec.a",
        "type",
        &says("string", "array"),
        &format!("write `wrap: spec.a`; or {APART}"),
    );
    for (one, two) in [("array", "string"), ("string", "object"), ("object", "array"), ("array", "object")] {
        let reason = format!("the two versions share no value: {APART}");
        may_not_be_accepted(&of(one), &of(two), "spec.a", "type", &says(one, two), &reason);
    }
}

/// The API server validates writes alone, so that an object without the field can be read.
#[test]
fn requirement_can_be_accepted() {
    let object = |required: &str, more: &str| {
        format!("{{type: object, required: [{required}], properties: {{b: {{type: string{more}}}}}}}")
    };
    let expected = |values: &str, version: &str| {
        format!(
            "thing.yaml:5: spec.a.b: required differs without an operation ({values}): `accept: {{path: spec.a.b, \
             difference: required, reason: …}}` if stored objects have the field (an object without it stays readable, and \
             `plan` names it), or write `fill: {{field: spec.a.b, value: \"\"}}`, so that readers see this value for unset \
             fields, or add a `default` to the {version} schema"
        )
    };
    difference(&object("b", ""), &object("", ""), &expected("older: true; newer: false", "older"));
    difference(&object("", ""), &object("b", ""), &expected("older: false; newer: true", "newer"));
    let accept = |path: &str| format!("  accept:\n  - {{path: {path}, difference: required, reason: all have it}}\n");
    for path in ["spec.a.b", "spec.a.**", "'**'"] {
        check(difference_of(&object("", ""), &object("b", ""), &accept(path)), "fine");
        check(difference_of(&object("b", ""), &object("", ""), &accept(path)), "fine");
    }
    check(
        difference_of(&object("", ""), &object("", ""), &accept("spec.a.b")),
        "thing.yaml:8: accept: spec.a.b does not differ in \"required\" between v1 and v2: remove the entry",
    );
    // Both versions require the field, and an operation need not make it.
    let blank = "  operations:\n  - blank: {field: spec.a.b, spellings: ['']}\n";
    check(difference_of(&object("b", ""), &object("b", ""), &format!("{blank}{}", accept("spec.a.b"))), "fine");
    let list = |required: &str| format!("{{type: array, items: {}}}", object(required, ""));
    check(difference_of(&list(""), &list("b"), &accept("'spec.a[*].b'")), "fine");
}

#[test]
fn lossy_difference_cannot_be_accepted() {
    let object = |required: &str, more: &str| {
        format!("{{type: object, required: [{required}], properties: {{b: {{type: string{more}}}}}}}")
    };
    let accept = "  accept:\n  - {path: spec.a.b, difference: required, reason: filled in}\n";
    check(difference_of(&object("", ", default: x"), &object("b", ", default: x"), accept), "fine");
    let filled = |older: &str, newer: &str| {
        difference_of(older, newer, "  operations:\n  - fill: {field: spec.a.b, value: x}\n")
    };
    check(filled(&object("", ""), &object("b", "")), "fine");
    check(filled(&object("b", ""), &object("", "")), "fine");
    check(
        filled(&object("b", ""), &object("b", "")),
        "thing.yaml:8: fill: both versions agree on whether spec.a.b is required: remove the operation",
    );
    let named = |pattern: &str| format!(", pattern: '{pattern}'");
    let matched = |pattern: &str| filled(&object("", &named(pattern)), &object("b", &named(pattern)));
    check(matched("^[a-z]$"), "fine");
    check(matched("^[0-9]$"), "thing.yaml:8: fill: spec.a.b cannot be \"x\"");
    let unknown = "thing.yaml:8: fill: spec.a.b has `pattern`, and pointsman cannot check \"x\" against this rule: use the \
                   `default` of the field, which the API server validates";
    check(matched("(?!y)x"), unknown);
    check(
        difference_of(&object("b", ""), &object("", ""), "  operations:\n  - fill: {field: spec.a.b, value: 3}\n"),
        "thing.yaml:8: fill: spec.a.b cannot be 3",
    );
    may_not_be_accepted(
        "{type: object, x-kubernetes-preserve-unknown-fields: true}",
        "{type: object}",
        "spec.a",
        "preserve-unknown-fields",
        "older: true; newer: false",
        &format!("the other version prunes unknown fields: {APART}"),
    );
    may_not_be_accepted(
        "{type: object, additionalProperties: {type: string}}",
        "{type: object, properties: {b: {type: string}}}",
        "spec.a",
        "items",
        "older: a map; newer: an object",
        &format!("one version prunes values of the other: {APART}"),
    );
}

#[test]
fn acceptance_needs_difference_and_reason() {
    let accept = |accept: &str| format!("{HEAD}steps:\n- from: v1\n  to: v2\n  accept:\n  - {accept}\n");
    let crd = crd("properties: {a: {type: integer, minimum: 0}}", "properties: {a: {type: integer, minimum: 1}}");
    check(problems_of(&accept("{path: spec.a, difference: minimum, reason: zero never worked}"), &crd), "fine");
    check(
        problems_of(&accept("{path: spec.a, difference: minimum, reason: \" \"}"), &crd),
        "thing.yaml:8: accept: spec.a: give a reason in `reason`",
    );
    check(
        problems_of(&accept("{path: spec.a, difference: maximum, reason: a typo}"), &crd),
        "thing.yaml:5: spec.a: minimum differs without an operation (older: 0; newer: 1): add an operation, or `accept: {path: spec.a, difference: minimum, reason: …}`\nthing.yaml:8: accept: spec.a does not differ in \"maximum\" between v1 and v2: remove the entry",
    );
    check(
        problems_of(&accept("{path: spec.a, difference: minimum}"), &crd),
        "thing.yaml:8: the key \"reason\" is missing",
    );
    check(
        problems_of(&accept("{path: spec.a, difference: [], reason: none}"), &crd),
        "thing.yaml:5: spec.a: minimum differs without an operation (older: 0; newer: 1): add an operation, or `accept: {path: spec.a, difference: minimum, reason: …}`\nthing.yaml:8: accept: spec.a: name the difference in `difference`",
    );
}

#[test]
fn several_differences_are_accepted_at_once() {
    let lists = |most: u64| {
        let item =
            format!("{{type: object, properties: {{c: {{type: string, maxLength: {most}, pattern: \"{most}\"}}}}}}");
        format!(
            "properties: {{a: {{type: array, maxItems: {most}, items: {item}}}, b: {{type: integer, maximum: {most}}}}}"
        )
    };
    let crd = crd(&lists(3), &lists(4));
    let accept = |accept: &str| problems_of(&format!("{HEAD}steps:\n- from: v1\n  to: v2\n  accept:\n{accept}"), &crd);
    check(accept("  - {path: '**', difference: bounds, reason: wider}\n"), "fine");
    check(
        accept(
            "  - {path: spec.a.**, difference: [maxItems, maxLength, pattern], reason: wider}\n  - {path: spec.b, difference: bounds, reason: wider}\n",
        ),
        "fine",
    );
    check(
        accept("  - {path: spec.**, difference: [bounds, enum], reason: wider}\n"),
        "thing.yaml:8: accept: spec.** does not differ in \"enum\" between v1 and v2: remove the entry",
    );
}

/// Numbers of schemas are compared by value: generators of CRDs spell them differently.
#[test]
fn number_spelling_is_no_difference() {
    let integer = |one: &str, most: &str| {
        format!(
            "{{type: integer, minimum: {one}, maximum: {most}, enum: [{one}, 2], default: {one}, multipleOf: {one}}}"
        )
    };
    check(difference_of(&integer("1", "2147483647"), &integer("1.0", "2.147483647e+9"), ""), "fine");
    check(difference_of("{type: number, maximum: 100}", "{type: number, maximum: 1e2}", ""), "fine");
    let differs = difference_of("{type: number, maximum: 1}", "{type: number, maximum: 1.5}", "");
    assert!(differs.contains("maximum"), "{differs}");
}

#[test]
fn null_without_a_kept_entry_is_refused() {
    let refused = |older: &str, newer: &str, operation: &str| {
        let problems = difference_of(older, newer, operation);
        assert!(problems.contains("nullable differs") && problems.contains("cannot be accepted"), "{problems}");
    };
    // An item without a type can be null only if the version allows null.
    let list = |more: &str| format!("{{type: array, items: {{x-kubernetes-preserve-unknown-fields: true{more}}}}}");
    refused(&list(""), &list(", nullable: true"), "");
    let required = "{type: object, required: [x], properties: {x: {x-kubernetes-preserve-unknown-fields: true}}}";
    refused(required, &required.replace("true}", "true, nullable: true}"), "");
    // The entry of a list keeps items, and not the list.
    let map = |more: &str| format!("{{type: object, default: {{}}{more}, additionalProperties: {{type: string}}}}");
    refused(&map(""), &map(", nullable: true"), "  operations: [{each: {in: spec.a, operations: []}}]\n");
}

#[test]
fn separate_items_change_the_size_of_a_list() {
    let list = |item: &str| format!("{{type: array, minItems: 1, items: {item}}}");
    let named = |required: &str| {
        list(&format!("{{type: object{required}, properties: {{name: {{type: string}}, port: {{type: integer}}}}}}"))
    };
    let text = list("{type: string}");
    let size =
        "spec.a: `drop` changes the size of the field, but the schema has the bound minItems (older: 1; newer: 1)";
    let apart = "  operations:\n  - each: {in: spec.a, operations: [{drop: .}, {add: .}]}\n";
    let problems = difference_of(&text, &named(""), apart);
    assert!(problems.contains(size), "{problems}");
    // A required field has a value in each item.
    let moved = "  operations:\n  - each: {in: spec.a, operations: [{move: {from: ., to: name}}, {add: port}]}\n";
    assert_eq!(difference_of(&text, &named(", required: [name]"), moved), "fine");
    let problems = difference_of(&text, &named(""), moved);
    assert!(problems.contains("`move` changes the size of the field"), "{problems}");
}

#[test]
fn name_is_a_field_of_both_versions() {
    let bounded = |version: usize| {
        let crd = crd(SAME, SAME);
        let mut versions = crd.match_indices("        properties:\n").map(|(at, _)| at);
        let (before, after) = crd.split_at(versions.nth(version).unwrap());
        let metadata = "          metadata: {type: object, properties: {name: {type: string, maxLength: 63}}}\n";
        after.replacen("        properties:\n", &format!("{before}        properties:\n{metadata}"), 1)
    };
    let step = format!("{HEAD}steps:\n- from: v1\n  to: v2\n");
    let accepted =
        format!("{step}  accept: [{{path: metadata.name, difference: maxLength, reason: names are short}}]\n");
    for (version, says) in [(0, "older: 63; newer: none"), (1, "older: none; newer: 63")] {
        check(
            problems_of(&step, &bounded(version)),
            &format!(
                "thing.yaml:5: metadata.name: maxLength differs without an operation ({says}): add an operation, or `accept: {{path: \
                 metadata.name, difference: maxLength, reason: …}}`"
            ),
        );
        check(problems_of(&accepted, &bounded(version)), "fine");
    }
}

#[test]
fn required_field_without_a_value_is_accepted() {
    let time = "{type: object, required: [t], properties: {b: {type: string}, t: {type: string, format: date-time}}}";
    let problems = difference_of("{type: object, properties: {b: {type: string}}}", time, "");
    let proposal =
        "add `add: spec.a.t` and `accept: {path: spec.a.t, difference: required, reason: …}` if stored objects have";
    assert!(problems.contains(proposal), "{problems}");
    let followed =
        "  operations: [{add: spec.a.t}]\n  accept: [{path: spec.a.t, difference: required, reason: all have it}]\n";
    check(difference_of("{type: object, properties: {b: {type: string}}}", time, followed), "fine");
}
