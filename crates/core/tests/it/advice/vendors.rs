//! Advice for CRDs of vendors.

use super::Ends;
use super::follower::{End, Follower};
use pointsman_core::definition::Kind;

use crate::kinds::data;

/// A CRD of `tests/data/advice`.
pub(super) fn crd(name: &str) -> serde_json::Value {
    serde_saphyr::from_str(&data(&format!("advice/{name}.crd.yaml"))).unwrap()
}

pub(super) fn names() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/advice");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter_map(|name| Some(name.strip_suffix(".crd.yaml")?.to_owned())).collect();
    names.sort();
    names
}

#[test]
fn advice_for_vendor_crds_loads() {
    let mut ends = Ends::default();
    for name in names() {
        ends.add(&name, Follower::new(&crd(&name)));
    }
    ends.check("vendor CRDs", 80);
}

#[track_caller]
fn loads(name: &str, operation: &str, operations: &[&str]) {
    match Follower::new(&crd(name)).with(operation).follow() {
        End::Loaded(text) => {
            for operation in operations {
                assert!(text.contains(operation), "{text}: lacks {operation}");
            }
        }
        End::Explained(why) | End::Stuck(why) => panic!("{why}"),
        End::Invalid => panic!("{name} is no CRD"),
    }
}

#[test]
fn moved_object_is_moved_by_fields() {
    loads(
        "wards",
        "move: {from: spec.fix, to: spec.remedy.ref}",
        &["- move: {from: spec.fix.name, to: spec.remedy.ref.name}", "- drop: spec.fix.uid"],
    );
}

#[test]
fn presence_of_object_is_advised() {
    loads(
        "moats",
        "values: {from: spec.guarded, to: spec.guard, map: [[true, {}], [false, null]]}",
        &["drop: spec.allowAll"],
    );
}

#[test]
fn renamed_object_names_newer_path() {
    let side = |name: &str, fields: &str| {
        let field = format!("{name}: {{type: object, properties: {{{fields}}}}}");
        format!("{{type: object, properties: {{spec: {{type: object, properties: {{{field}}}}}}}}}")
    };
    let versions =
        [("v1", side("gate", "a: {type: string}")), ("v2", side("door", "a: {type: string}, b: {type: string}"))];
    let versions = versions.map(|(name, schema)| {
        format!("{{name: {name}, served: true, storage: {}, schema: {{openAPIV3Schema: {schema}}}}}", name == "v1")
    });
    let names = "{kind: Thing, plural: things}";
    let crd = format!(
        "{{kind: CustomResourceDefinition, spec: {{group: example.com, names: {names}, versions: [{}]}}}}",
        versions.join(", ")
    );
    let crd: serde_json::Value = serde_saphyr::from_str(&crd).unwrap();
    let end = Follower::new(&crd).with("rename: {from: spec.gate, to: spec.door}").follow();
    let End::Loaded(text) = end else { panic!("does not load") };
    assert!(text.contains("- add: spec.door.b"), "{text}");
}

/// `kubectl get crd NAME -o yaml` of several names prints a list.
#[test]
fn list_of_crds_is_read() {
    let definition =
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: reefs.yaml\nsteps:\n- {from: v1, to: v2}\n";
    let kind = Kind::load("reefs.yaml", definition, &mut |_| Ok(data("advice/reefs.list.yaml")));
    let problems = kind.map_or_else(|bad| bad.to_string(), |kind| kind.plural().to_owned());
    assert!(!problems.contains("is not a CustomResourceDefinition"), "{problems}");
}
