use crate::definition::Kind;

const OLDER: &str = "properties: {timeout: {type: string}, name: {type: string}}, required: [timeout, name]";
const NEWER: &str =
    "properties: {timeoutSeconds: {type: integer}, title: {type: string}}, required: [timeoutSeconds, title]";

fn crd() -> String {
    let version = |name: &str, spec: &str, storage: bool| {
        format!(
            "{{name: {name}, served: true, storage: {storage}, schema: {{openAPIV3Schema: {{type: object, properties: \
             {{spec: {{type: object, {spec}}}}}}}}}}}"
        )
    };
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec: {{group: example.com, scope: Namespaced, names: {{kind: Thing, plural: things}}, versions: [{}, {}]}}\n",
        version("v1", OLDER, false),
        version("v2", NEWER, true),
    )
}

const DEFINITION: &str = "apiVersion: pointsman.dev/v1
kind: KindDefinition
crd: things.crd.yaml
steps:
- from: v1
  to: v2
  operations:
  - drop: {field: spec.timeout, value: 5m}
  - add: {field: spec.timeoutSeconds, value: 300}
  - drop: {field: spec.name, value: a}
  - add: {field: spec.title, value: b}
";

const MESSAGE: &str = "spec.timeoutSeconds: readers of v2 see 300 for every value of spec.timeout in v1: convert it with `type: {from: \
                       spec.timeout, to: spec.timeoutSeconds, as: seconds}`";

#[test]
fn made_up_value_is_a_warning() {
    let kind = Kind::from_crd(DEFINITION, &crd()).unwrap();
    let warnings: Vec<(u64, &str)> =
        kind.warnings().iter().map(|warning| (warning.line, warning.message.as_str())).collect();
    assert_eq!(warnings, [(9, MESSAGE)]);
    let converted = DEFINITION.replace(
        "- drop: {field: spec.timeout, value: 5m}\n  - add: {field: spec.timeoutSeconds, value: 300}",
        "- type: {from: spec.timeout, to: spec.timeoutSeconds, as: seconds}",
    );
    let accepted = format!(
        "{converted}  accept:\n  - {{path: spec.timeoutSeconds, difference: required, reason: all are durations}}\n  - {{path: \
         spec.timeout, difference: required, reason: all are durations}}\n"
    );
    assert!(Kind::from_crd(&accepted, &crd()).unwrap().warnings().is_empty());
}

#[test]
fn strict_definition_has_no_made_up_value() {
    let strict = DEFINITION.replace("steps:", "strict: true\nsteps:");
    let bad = Kind::from_crd(&strict, &crd()).unwrap_err();
    assert_eq!(bad.to_string(), format!("definition:10: {MESSAGE}"));
}

#[test]
fn field_without_a_move_is_computed() {
    let nullable = crd()
        .replace("timeoutSeconds: {type: integer}", "timeout: {type: string, nullable: true}")
        .replace("timeoutSeconds", "timeout");
    let definition = DEFINITION.replace("timeoutSeconds, value: 300", "timeout, value: 5m");
    let kind = Kind::from_crd(&definition, &nullable).unwrap();
    let messages: Vec<&str> = kind.warnings().iter().map(|warning| warning.message.as_str()).collect();
    assert!(messages.len() == 1 && messages[0].ends_with("convert it with `compute`"), "{messages:?}");
}
