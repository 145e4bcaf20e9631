//! Objects as people write them into files, which no API server has filled in: what one fills in later is no edit.

use pointsman_core::laws::apiserver::fill;
use pointsman_core::laws::{Value, schema_of, without_ours};
use pointsman_core::webhook::{Metadata, Webhook};

use super::random_kinds::load;

/// Definitions, and what somebody may write in them.
const MANIFESTS: [(&str, &str, &str); 19] = [
    ("a-guard-that-is-filled-in", "v2", r#""spec":{"hosts":[{"h":"a"},{"h":"b"}]}"#),
    ("a-guard-that-is-filled-in", "v1", r#""spec":{"host":{"h":"a"}}"#),
    ("a-guard-that-is-filled-in", "v1", r#""spec":{}"#),
    ("a-key-that-is-filled-in", "v1", r#""spec":{"l":[{"k":"a","c":"one"},{"k":"b","c":"two"}]}"#),
    ("a-key-that-is-filled-in", "v1", r#""spec":{"l":[{"k":"a","c":"one"},{"k":"a","p":"UDP","c":"two"}]}"#),
    ("a-default-around-a-split", "v1", r#""spec":{"hp":"a:80"}"#),
    ("a-default-around-a-split", "v1", r#""spec":{}"#),
    ("a-default-around-a-split", "v2", r#""spec":{"e":{"host":"a","port":80}}"#),
    ("a-default-in-place-of-another", "v2", r#""spec":{"d":"x"}"#),
    ("a-default-in-place-of-another", "v1", r#""spec":{}"#),
    ("a-default-in-place-of-another", "v2", r#""spec":{}"#),
    ("a-default-without-what-is-added", "v1", r#""spec":{}"#),
    ("a-default-without-what-is-added", "v1", r#""spec":{"o":{}}"#),
    ("a-default-without-what-is-added", "v1", r#""spec":{"o":{"i":1}}"#),
    ("a-default-without-what-is-added", "v2", r#""spec":{}"#),
    ("an-addition-without-a-spec", "v2", r#""data":{"x":"a"}"#),
    ("a-null-in-a-default", "v1", r#""spec":{}"#),
    ("a-null-in-a-default", "v1", r#""spec":{"o":{"other":"x"}}"#),
    ("a-default-in-a-default", "v2", r#""spec":{"backup":{}}"#),
];

#[test]
fn what_is_filled_in_later_is_no_edit() {
    let mut wrong = Vec::new();
    for (case, from, members) in MANIFESTS {
        let webhook = Webhook::new(vec![load(case).unwrap()], Metadata::Full).unwrap();
        let filled = |object: &Value, version: &str| {
            let mut object = object.clone();
            fill(schema_of(&webhook.kinds()[0], version).unwrap(), &mut object);
            object
        };
        let convert =
            |object: &Value, to: &str| Value::read(&webhook.convert(&object.to_text(), to).unwrap().text).unwrap();
        let to = if from == "v1" { "v2" } else { "v1" };
        let object = format!(
            r#"{{"apiVersion":"example.com/{from}","kind":"Thing","metadata":{{"name":"a","uid":"u"}},{members}}}"#
        );
        let object = Value::read(&object).unwrap();
        let there = convert(&object, to);
        for (how, there) in [("as it came", there.clone()), ("filled in", filled(&there, to))] {
            let home = without_ours(&filled(&convert(&there, from), from));
            if home != filled(&object, from) {
                wrong.push(format!(
                    "{case}, {how} there: {}\n  there: {}\n  home:  {}",
                    object.to_text(),
                    there.to_text(),
                    home.to_text()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
