use super::expect::{HEAD, SAME, check, crd, difference, problems_of, step};

#[test]
fn fields_of_one_version_that_nothing_explains() {
    let more = "properties: {image: {type: string}, replicas: {type: integer}, size: {type: string}}";
    step(
        more,
        SAME,
        "",
        "thing.yaml:5: spec.size: only the older version has it, and no operation says so: add `drop: spec.size`, or `rename`/`move` it",
    );
    step(
        SAME,
        more,
        "",
        "thing.yaml:5: spec.size: only the newer version has it, and no operation says so: add `add: spec.size`, or `rename`/`move` to it",
    );
    let list =
        |more: &str| format!("{{type: array, items: {{type: object, properties: {{name: {{type: string}}{more}}}}}}}");
    difference(
        &list(", size: {type: string}"),
        &list(""),
        "thing.yaml:5: spec.a[*].size: only the older version has it, and no operation says so: add `each: {in: spec.a, operations: [{drop: size}]}`, or `rename`/`move` it",
    );
    let lists = |more: &str| {
        let inner = list(more);
        format!("{{type: array, items: {{type: object, properties: {{name: {{type: string}}, b: {inner}}}}}}}")
    };
    difference(
        &lists(", size: {type: string}"),
        &lists(""),
        "thing.yaml:5: spec.a[*].b[*].size: only the older version has it, and no operation says so: add `each: {in: spec.a, operations: [{each: {in: b, operations: [{drop: size}]}}]}`, or `rename`/`move` it",
    );
    let map = |more: &str| {
        format!(
            "{{type: object, additionalProperties: {{type: object, properties: {{name: {{type: string}}{more}}}}}}}"
        )
    };
    difference(
        &map(""),
        &map(", size: {type: string}"),
        "thing.yaml:5: spec.a[*].size: only the newer version has it, and no operation says so: add `each: {in: spec.a, operations: [{add: size}]}`, or `rename`/`move` to it",
    );
}

#[test]
fn differences_that_nothing_explains() {
    difference(
        "{type: string}",
        "{type: integer}",
        "thing.yaml:5: spec.a: type differs and no operation explains it (older: string; newer: integer): add one, or `accept: {path: spec.a, difference: type, reason: …}`",
    );
    difference(
        "{type: string}",
        "{type: string, format: uuid}",
        "thing.yaml:5: spec.a: format differs and no operation explains it (older: none; newer: uuid): add one, or `accept: {path: spec.a, difference: format, reason: …}`",
    );
    difference(
        "{type: string, enum: [a, b]}",
        "{type: string, enum: [a]}",
        r#"thing.yaml:5: spec.a: enum differs and no operation explains it (older: "a" "b"; newer: "a"): add one, or `accept: {path: spec.a, difference: enum, reason: …}`"#,
    );
    difference(
        "{type: string, nullable: true}",
        "{type: string}",
        "thing.yaml:5: spec.a: nullable differs and no operation explains it (older: true; newer: false): add one, or `accept: {path: spec.a, difference: nullable, reason: …}`",
    );
    difference(
        "{type: integer, minimum: 0}",
        "{type: integer, minimum: 1}",
        "thing.yaml:5: spec.a: minimum differs and no operation explains it (older: 0; newer: 1): add one, or `accept: {path: spec.a, difference: minimum, reason: …}`",
    );
    difference(
        "{type: string, pattern: \"^a$\"}",
        "{type: string}",
        r#"thing.yaml:5: spec.a: pattern differs and no operation explains it (older: "^a$"; newer: none): add one, or `accept: {path: spec.a, difference: pattern, reason: …}`"#,
    );
    difference(
        "{type: object, required: [b], properties: {b: {type: string}}}",
        "{type: object, properties: {b: {type: string}}}",
        "thing.yaml:5: spec.a.b: required differs and no operation explains it (older: true; newer: false): add one, or `accept: {path: spec.a.b, difference: required, reason: …}`",
    );
    difference(
        "{type: object, x-kubernetes-preserve-unknown-fields: true}",
        "{type: object}",
        "thing.yaml:5: spec.a: preserve-unknown-fields differs and no operation explains it (older: true; newer: false): add one, or `accept: {path: spec.a, difference: preserve-unknown-fields, reason: …}`",
    );
}

#[test]
fn what_is_accepted_must_differ_and_say_why() {
    let accept = |accept: &str| format!("{HEAD}steps:\n- from: v1\n  to: v2\n  accept:\n  - {accept}\n");
    let crd = crd("properties: {a: {type: integer, minimum: 0}}", "properties: {a: {type: integer, minimum: 1}}");
    check(problems_of(&accept("{path: spec.a, difference: minimum, reason: zero never worked}"), &crd), "fine");
    check(
        problems_of(&accept("{path: spec.a, difference: minimum, reason: \" \"}"), &crd),
        "thing.yaml:8: accept: spec.a: say why, in `reason`",
    );
    check(
        problems_of(&accept("{path: spec.a, difference: maximum, reason: a typo}"), &crd),
        "thing.yaml:5: spec.a: minimum differs and no operation explains it (older: 0; newer: 1): add one, or `accept: {path: spec.a, difference: minimum, reason: …}`\nthing.yaml:8: accept: spec.a does not differ in \"maximum\": nothing to accept",
    );
    check(problems_of(&accept("{path: spec.a, difference: minimum}"), &crd), "thing.yaml:8: missing field `reason`");
}
