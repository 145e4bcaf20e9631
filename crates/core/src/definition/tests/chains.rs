//! What steps cannot promise together.

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
        "thing.yaml:{line}: {object}: somebody who removes it in {} removes all of it, but it is made anew for what is \
         put into it in {}, and {kept}, kept between {} and {}, would come back: in an item, and where it is renamed \
         in between, nobody knows that it was away. Put both into one step, or let one of the two stand elsewhere",
        ends.0, ends.1, between.0, between.1
    )
}

#[test]
fn what_is_kept_in_an_object_that_another_step_makes_inside_an_item() {
    let (bare, days, legacy) = (object("backup", ""), object("backup", DAYS), object("backup", LEGACY));
    let v1 = items(&format!("days: {{type: integer}}, {bare}"));
    let moved = "{each: {in: spec.items, operations: [{move: {from: days, to: backup.days}}]}}";
    let added = "{each: {in: spec.items, operations: [{add: backup.legacy}]}}";
    let told = comes_back(5, "spec.items[*].backup", ("v1", "v2"), "spec.items[*].backup.legacy", ("v2", "v3"));
    check(chain(&[(&v1, ""), (&items(&days), moved), (&items(&legacy), added)]), &told);
    // In one step, and where nothing is put into the object, it is known.
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
fn what_is_kept_in_an_object_that_was_renamed_since_another_step_made_it() {
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
