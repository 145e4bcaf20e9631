use super::expect::{SAME, step};

#[test]
fn operations_that_cannot_be_read() {
    step(
        SAME,
        SAME,
        "  - dorp: spec.image\n",
        r#"thing.yaml:8: unknown operation "dorp", did you mean "drop"? Known here: add, blank, drop, each, move, moveIntoMap, rename, split, type, values, wrap"#,
    );
    step(
        SAME,
        SAME,
        "  - move: {from: spec.image, too: spec.replicas}\n",
        r#"thing.yaml:8: unknown key "too", did you mean "to"? Known here: from, to"#,
    );
    step(
        SAME,
        SAME,
        "  - drop: [spec.image]\n",
        "thing.yaml:8: takes a path, or {field: PATH, value: WHAT TO FILL IN}",
    );
    step(SAME, SAME, "  - values: {field: spec.image}\n", "thing.yaml:8: missing field `map`");
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
        "thing.yaml:8: metadata.labels: the API server itself takes care of metadata, apiVersion and kind",
    );
    step(
        SAME,
        SAME,
        "  - drop: spec.image\n",
        "thing.yaml:5: spec.image: only the newer version has it, and no operation says so: add `add: spec.image`, or `rename`/`move` to it\nthing.yaml:8: drop: the newer version has spec.image too",
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
