//! A short form of definitions and CRDs, and the expected error messages.

use crate::definition::kind::Kind;

/// A CRD with these properties of spec in v1 and v2, as flow mappings.
pub(super) fn crd(older: &str, newer: &str) -> String {
    let version = |name: &str, storage: bool, spec: &str| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {storage}\n    schema:\n      openAPIV3Schema:\n        \
             type: object\n        properties:\n          spec: {{type: object, {spec}}}\n          \
             status: {{type: object, properties: {{done: {{type: string}}}}}}\n"
        )
    };
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Thing, plural: things}}\n  versions:\n{}{}",
        version("v1", false, older),
        version("v2", true, newer)
    )
}

pub(super) const HEAD: &str = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: things.yaml\n";

pub(super) fn problems_of(definition: &str, crd: &str) -> String {
    match Kind::load("thing.yaml", definition, &mut |_| Ok(crd.to_owned())) {
        Ok(_) => "fine".to_owned(),
        Err(bad) => bad.to_string(),
    }
}

/// Operations of the step from v1 to v2 begin in line 7.
#[track_caller]
pub(super) fn step(older: &str, newer: &str, operations: &str, expected: &str) {
    let definition = format!("{HEAD}steps:\n- from: v1\n  to: v2\n  operations:\n{operations}");
    check(problems_of(&definition, &crd(older, newer)), expected);
}

/// A step between two schemas of `spec.a`, with more lines in it from line 7 on.
pub(super) fn difference_of(older: &str, newer: &str, more: &str) -> String {
    let definition = format!("{HEAD}steps:\n- from: v1\n  to: v2\n{more}");
    let properties = |field: &str| format!("properties: {{a: {field}}}");
    problems_of(&definition, &crd(&properties(older), &properties(newer)))
}

#[track_caller]
pub(super) fn difference(older: &str, newer: &str, expected: &str) {
    check(difference_of(older, newer, ""), expected);
}

#[track_caller]
pub(super) fn check(actual: String, expected: &str) {
    assert_eq!(actual, expected);
}

pub(super) const SAME: &str = "properties: {image: {type: string}, replicas: {type: integer}}";
