//! Guarantees that successive steps cannot give together.

use super::expect::{HEAD, check, problems_of};

/// A chain of versions, v1 and on, each with its properties of spec and the operation that leads to it.
fn chain(versions: &[(&str, &str)]) -> String {
    let version = |at: usize, spec: &str| {
        format!(
            "  - name: v{}\n    served: true\n    storage: {}\n    schema:\n      openAPIV3Schema:\n        \
             type: object\n        properties:\n          spec: {{type: object, properties: {{{spec}}}}}\n",
            at + 1,
            at == 0
        )
    };
    let crd: String = versions.iter().enumerate().map(|(at, (spec, _))| version(at, spec)).collect();
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Thing, plural: things}}\n  versions:\n{crd}"
    );
    let step = |at: usize, operation: &str| format!("- {{from: v{at}, to: v{}, operations: [{operation}]}}\n", at + 1);
    let steps: String = versions.iter().enumerate().skip(1).map(|(at, (_, operation))| step(at, operation)).collect();
    problems_of(&format!("{HEAD}steps:\n{steps}"), &crd)
}

fn items(item: &str) -> String {
    format!("items: {{type: array, items: {{type: object, properties: {{{item}}}}}}}")
}

fn object(name: &str, more: &str) -> String {
    format!("{name}: {{type: object, properties: {{color: {{type: string}}{more}}}}}")
}

const DAYS: &str = ", days: {type: integer}";
const LEGACY: &str = ", days: {type: integer}, legacy: {type: string}";

fn comes_back(line: u64, object: &str, ends: (&str, &str), kept: &str, between: (&str, &str)) -> String {
    format!(
        "thing.yaml:{line}: {object}: a client that removes the object in {} removes its fields too, but a later field in \
         {} creates the object again, and {kept}, kept between {} and {}, would return. In a list item, or with a rename \
         in between, the removal leaves no trace, so that no operation can express both. Put both into one step, or move one of the two to another object",
        ends.0, ends.1, between.0, between.1
    )
}

#[test]
fn value_survives_in_item_object() {
    let (bare, days, legacy) = (object("backup", ""), object("backup", DAYS), object("backup", LEGACY));
    let v1 = items(&format!("days: {{type: integer}}, {bare}"));
    let moved = "{each: {in: spec.items, operations: [{move: {from: days, to: backup.days}}]}}";
    let added = "{each: {in: spec.items, operations: [{add: backup.legacy}]}}";
    let told = comes_back(5, "spec.items[*].backup", ("v1", "v2"), "spec.items[*].backup.legacy", ("v2", "v3"));
    check(chain(&[(&v1, ""), (&items(&days), moved), (&items(&legacy), added)]), &told);
    // Within one step the removal is detected, also in a chain without insertion into the object.
    let both = "{each: {in: spec.items, operations: [{move: {from: days, to: backup.days}}, {add: backup.legacy}]}}";
    check(chain(&[(&v1, ""), (&items(&legacy), both), (&items(&legacy), "")]), "fine");
    check(chain(&[(&items(&days), ""), (&items(&days), ""), (&items(&legacy), added)]), "fine");
    // Down the other way.
    let dropped = "{each: {in: spec.items, operations: [{drop: backup.legacy}]}}";
    let taken = "{each: {in: spec.items, operations: [{move: {from: backup.days, to: days}}]}}";
    let told = comes_back(6, "spec.items[*].backup", ("v3", "v2"), "spec.items[*].backup.legacy", ("v1", "v2"));
    check(chain(&[(&items(&legacy), ""), (&items(&days), dropped), (&v1, taken)]), &told);
}

#[test]
fn value_survives_earlier_rename() {
    let v1 = format!("days: {{type: integer}}, {}", object("store", ""));
    let moved = "{move: {from: spec.days, to: spec.store.days}}";
    let renamed = "{rename: {from: spec.store, to: spec.backup}}";
    let (store, backup, legacy) = (object("store", DAYS), object("backup", DAYS), object("backup", LEGACY));
    let told = comes_back(5, "spec.store", ("v1", "v2"), "spec.backup.legacy", ("v3", "v4"));
    let added = "{add: spec.backup.legacy}";
    check(chain(&[(&v1, ""), (&store, moved), (&backup, renamed), (&legacy, added)]), &told);
    // Under its name it is known.
    let kept = object("store", LEGACY);
    check(chain(&[(&v1, ""), (&store, moved), (&store, ""), (&kept, "{add: spec.store.legacy}")]), "fine");
}

#[test]
fn value_survives_in_one_sided_object() {
    let v1 = items("p: {type: integer}");
    let v2 = items("h: {type: object, properties: {q: {type: integer}}}");
    let v3 = items("r: {type: integer}, h: {type: object, properties: {x: {type: string}}}");
    let moved = "{each: {in: spec.items, operations: [{move: {from: p, to: h.q}}]}}";
    let taken = "{each: {in: spec.items, operations: [{move: {from: h.q, to: r}}, {add: h.x}]}}";
    let up = comes_back(5, "spec.items[*].h", ("v1", "v2"), "spec.items[*].h.q", ("v2", "v3"));
    let down = comes_back(6, "spec.items[*].h", ("v3", "v2"), "spec.items[*].h.q", ("v1", "v2"));
    check(chain(&[(&v1, ""), (&v2, moved), (&v3, taken)]), &format!("{up}\n{down}"));
}

#[test]
fn value_survives_in_filled_object() {
    let backup =
        |more: &str| format!("backup: {{type: object, default: {{}}, properties: {{color: {{type: string}}{more}}}}}");
    let added = "{each: {in: spec.items, operations: [{add: backup.legacy}]}}";
    let dropped = "{each: {in: spec.items, operations: [{drop: backup.days}]}}";
    let up = comes_back(5, "spec.items[*].backup", ("v1", "v2"), "spec.items[*].backup.legacy", ("v2", "v3"));
    let down = comes_back(6, "spec.items[*].backup", ("v3", "v2"), "spec.items[*].backup.days", ("v1", "v2"));
    let told = format!("{up}\n{down}");
    let legacy = items(&backup(", legacy: {type: string}"));
    check(chain(&[(&items(&backup(DAYS)), ""), (&items(&backup("")), dropped), (&legacy, added)]), &told);
    // At the top level, an object is identified by its path.
    let at_top = |more: &str| backup(more);
    check(
        chain(&[
            (&at_top(DAYS), ""),
            (&at_top(""), "{drop: spec.backup.days}"),
            (&at_top(", legacy: {type: string}"), "{add: spec.backup.legacy}"),
        ]),
        "fine",
    );
}

#[test]
fn value_survives_rename_after_fill() {
    let object = |name: &str, mode: &str, more: &str| {
        format!("{name}: {{type: object, default: {{}}, properties: {{mode: {{type: string{mode}}}{more}}}}}")
    };
    // No operation is inside the object that is created, so the line is that of the kept value.
    let accepted = "], accept: [{path: spec.backup.mode, difference: nullable, reason: a test}";
    let (renamed, added) = ("{rename: {from: spec.backup, to: spec.store}}", "{add: spec.store.legacy}");
    let (v1, v2) = (object("backup", ", nullable: true", ""), object("backup", "", ""));
    let (v3, v4) = (object("store", "", ""), object("store", "", ", legacy: {type: string}"));
    let up = comes_back(7, "spec.backup", ("v1", "v2"), "spec.store.legacy", ("v3", "v4"));
    let down = comes_back(7, "spec.store", ("v4", "v3"), "spec.backup.mode", ("v1", "v2"));
    check(chain(&[(&v1, ""), (&v2, accepted), (&v3, renamed), (&v4, added)]), &format!("{up}\n{down}"));
}

#[test]
fn value_survives_in_nested_items() {
    let lists = |item: &str| items(&format!("parts: {{type: array, items: {{type: object, properties: {{{item}}}}}}}"));
    let each = |operation: &str| {
        format!("{{each: {{in: spec.items, operations: [{{each: {{in: parts, operations: [{operation}]}}}}]}}}}")
    };
    let v1 = lists(&format!("days: {{type: integer}}, {}", object("backup", "")));
    let (days, legacy) = (lists(&object("backup", DAYS)), lists(&object("backup", LEGACY)));
    let (moved, added) = (each("{move: {from: days, to: backup.days}}"), each("{add: backup.legacy}"));
    let (made, kept) = ("spec.items[*].parts[*].backup", "spec.items[*].parts[*].backup.legacy");
    check(
        chain(&[(&v1, ""), (&days, &moved), (&legacy, &added)]),
        &comes_back(5, made, ("v1", "v2"), kept, ("v2", "v3")),
    );
}

#[test]
fn value_survives_in_renamed_list() {
    let renamed =
        |list: &str, item: &str| items(item).replace("items: {type: array", &format!("{list}: {{type: array"));
    let v1 = items(&format!("days: {{type: integer}}, {}", object("backup", "")));
    let moved = "{each: {in: spec.items, operations: [{move: {from: days, to: backup.days}}]}}";
    let (days, moved_on, legacy) = (object("backup", DAYS), object("backup", DAYS), object("backup", LEGACY));
    let added = "{each: {in: spec.parts, operations: [{add: backup.legacy}]}}";
    let chain_of = |rename: &str| {
        chain(&[
            (&v1, ""),
            (&items(&days), moved),
            (&renamed("parts", &moved_on), rename),
            (&renamed("parts", &legacy), added),
        ])
    };
    let told = comes_back(5, "spec.items[*].backup", ("v1", "v2"), "spec.parts[*].backup.legacy", ("v3", "v4"));
    check(chain_of("{rename: {from: spec.items, to: spec.parts}}"), &told);
    check(chain_of("{each: {from: spec.items, to: spec.parts, operations: []}}"), &told);
}
