//! The report about a definition that violates a law. No valid definition does: it is rejected, or is a defect that
//! gets fixed. So one definition converts the objects here, and another one checks them.

use pointsman_core::definition::Kind;
use pointsman_core::laws::{CheckOptions, Dictionary, LAWS, Value, survey};
use pointsman_core::webhook::{Metadata, Webhook};

use super::check_result::{Checked, Understood};
use super::junit::document;
use super::trial::Trial;
use crate::commands::json_tree::JsonTree;

/// A kind `Thing` whose `spec.policy` is `always` in v1, and something else in v2. The operation is in line 8.
pub(crate) fn thing(newer: (&str, &str)) -> Kind {
    let (value, of_type) = newer;
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: things.crd.yaml\nsteps:\n- from: v1\n  to: v2\n  \
         operations:\n  - values: {{field: spec.policy, map: {{always: {value}}}}}\n"
    );
    let version = |name: &str, storage: bool, (value, of_type): (&str, &str)| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {storage}\n    schema: {{openAPIV3Schema: {{type: object, \
             properties: {{spec: {{type: object, properties: {{policy: {{type: {of_type}, enum: [{value}]}}}}}}}}}}}}\n"
        )
    };
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Thing, plural: things}}\n  versions:\n{}{}",
        version("v1", false, ("always", "string")),
        version("v2", true, (value, of_type))
    );
    Kind::from_crd(&definition, &crd).unwrap()
}

/// A value that v2 does not have, where another one is promised.
fn broken(samples: &[&str]) -> Checked {
    let webhook = Webhook::new(vec![thing(("1", "integer"))], Metadata::Full).unwrap();
    let promised = thing(("Always", "string"));
    let values: Vec<Value> = samples.iter().map(|sample| Value::read(sample).unwrap()).collect();
    let words = Dictionary::default();
    let cases = if samples.is_empty() { 20 } else { 0 };
    let mut options =
        CheckOptions { seed: 0, cases, laws: &[], words: &words, has_time: &mut || true, converted: &|| {} };
    let survey = survey(&webhook, &promised, &values, &mut options);
    Checked {
        file: "thing.yaml".to_owned(),
        argument: "thing.yaml".to_owned(),
        problems: Vec::new(),
        kind: Some(Understood::new(&promised, "", JsonTree::Null)),
        trial: Some(Trial { survey, seed: 0, interrupted: false }),
        samples: vec![("things.json, item 2: Thing a".to_owned(), "things.json".to_owned()); samples.len()],
    }
}

#[test]
fn violation_shows_smallest_object() {
    let told = broken(&[]).story();
    let first = "thing.yaml:8: a law of conversion is broken, ";
    assert!(told.starts_with(first), "{told}");
    for line in [
        ", from v1 to v2: ",
        "\n  problem: ",
        "\n  the operation at fault: values spec.policy",
        "\n  # the smallest object that shows the problem, at v1; converted to v2\n  apiVersion: example.com/v1\n  kind: Thing\n",
        "\n  spec:\n    policy: always\n",
        "\n  to repeat the trial: pointsman kinds check thing.yaml --try 1 --seed ",
        "\n  next: change the operation in line 8 of thing.yaml and check again. ",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    // The same text twice.
    assert_eq!(broken(&[]).story(), told);
}

#[test]
fn shared_violation_counts_once() {
    let checked = broken(&[]);
    assert_eq!((checked.wrong(), checked.text()), (1, String::new()));
}

#[test]
fn results_are_written_for_ci_systems() {
    let xml = document("pointsman kinds check", &[broken(&[]).suite()]);
    // The definition, and each law in each direction.
    let suite = format!("\n  <testsuite name=\"Thing.example.com\" tests=\"{}\" failures=\"", 1 + 2 * LAWS.len());
    for line in [
        suite.as_str(),
        "\n    <testcase classname=\"Thing.example.com\" name=\"definition\"/>\n",
        "\">\n      <failure message=\"thing.yaml:8: a law of conversion is broken, ",
    ] {
        assert!(xml.contains(line), "{line}\n{xml}");
    }
}

#[test]
fn results_are_written_for_programs() {
    let result: serde_json::Value = serde_json::from_str(&broken(&[]).json().to_string()).unwrap();
    assert_eq!((&result["fine"], &result["trial"]["through"]), (&false.into(), &true.into()));
    let laws = result["trial"]["laws"].as_array().unwrap();
    let found = result["trial"]["broken"].as_array().unwrap();
    let holding = laws.iter().filter(|law| law["holds"] == true).count();
    assert_eq!((laws.len(), holding), (2 * LAWS.len(), 2 * LAWS.len() - found.len()));
    assert_eq!((&found[0]["line"], &found[0]["object"]["spec"]["policy"]), (&8.into(), &"always".into()));
    assert!(found[0]["again"].as_str().unwrap().starts_with("pointsman kinds check thing.yaml --try 1 --seed "));
}

#[test]
fn failing_sample_is_named() {
    let told = broken(&[
        r#"{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"policy":"always"}}"#,
    ])
    .story();
    assert!(told.contains("\n  found with things.json, item 2: Thing a\n"), "{told}");
    assert!(
        told.contains(
            "\n  to repeat the trial: pointsman kinds check thing.yaml --try 0 --seed 0 --samples things.json\n"
        ),
        "{told}"
    );
}
