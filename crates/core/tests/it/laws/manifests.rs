//! Manifests from files, without the API server's defaults: a default filled in later is no edit.

use pointsman_core::laws::apiserver::fill;
use pointsman_core::laws::{Value, schema_of, without_ours};
use pointsman_core::webhook::{Metadata, Webhook};

use super::random_kinds::load;

/// Definitions, and possible manifests.
const MANIFESTS: [(&str, &str, &str); 39] = [
    ("guard-with-default", "v2", r#""spec":{"hosts":[{"h":"a"},{"h":"b"}]}"#),
    ("guard-with-default", "v2", LONG),
    ("guard-with-default", "v2", LONG_UNSAID),
    ("guard-with-default", "v1", r#""spec":{"host":{"h":"a"}}"#),
    ("guard-with-default", "v1", r#""spec":{}"#),
    ("item-key-with-default", "v1", r#""spec":{"l":[{"k":"a","c":"one"},{"k":"b","c":"two"}]}"#),
    ("item-key-with-default", "v1", r#""spec":{"l":[{"k":"a","c":"one"},{"k":"a","p":"UDP","c":"two"}]}"#),
    ("default-around-split", "v1", r#""spec":{"hp":"a:80"}"#),
    ("default-around-split", "v1", r#""spec":{}"#),
    ("default-around-split", "v2", r#""spec":{"e":{"host":"a","port":80}}"#),
    ("object-default-overrides-field-default", "v2", r#""spec":{"d":"x"}"#),
    ("object-default-overrides-field-default", "v1", r#""spec":{}"#),
    ("object-default-overrides-field-default", "v2", r#""spec":{}"#),
    ("default-without-added-field", "v1", r#""spec":{}"#),
    ("default-without-added-field", "v1", r#""spec":{"o":{}}"#),
    ("default-without-added-field", "v1", r#""spec":{"o":{"i":1}}"#),
    ("default-without-added-field", "v2", r#""spec":{}"#),
    ("added-field-without-spec", "v2", r#""data":{"x":"a"}"#),
    ("null-in-default", "v1", r#""spec":{}"#),
    ("null-in-default", "v1", r#""spec":{"o":{"other":"x"}}"#),
    ("nested-default-with-unknown-fields", "v2", r#""spec":{"backup":{}}"#),
    ("default-around-item-field", "v2", r#""spec":{"l":[{"d":"x"},{"d":"y"}]}"#),
    ("default-around-item-field", "v2", r#""spec":{"l":[{"d":"x","m":{"port":"outer"}}]}"#),
    ("default-around-moved-field", "v1", r#""spec":{"n":"x"}"#),
    ("default-around-moved-field", "v1", r#""spec":{"n":"x","m":{"port":"p"}}"#),
    ("nested-default-of-one-version", "v2", r#""spec":{}"#),
    ("nested-default-of-one-version", "v2", r#""spec":{"p":{}}"#),
    ("nested-default-of-one-version", "v3", r#""spec":{"z":"q"}"#),
    ("default-of-one-version-object", "v2", r#""spec":{}"#),
    ("default-of-one-version-object", "v2", r#""spec":{"v":{}}"#),
    ("default-of-one-version-object", "v1", r#""spec":{}"#),
    ("default-beside-moved-out-field", "v2", r#""spec":{"d":"x"}"#),
    ("default-beside-moved-out-field", "v1", r#""spec":{}"#),
    ("default-only-at-source", "v1", r#""spec":{}"#),
    ("default-moved-into-empty-object", "v1", r#""spec":{}"#),
    ("default-moved-into-empty-object", "v2", r#""spec":{"v":{}}"#),
    ("default-moved-into-empty-object", "v2", r#""spec":{}"#),
    ("nulls-in-default", "v1", r#""spec":{}"#),
    ("nulls-in-default", "v2", r#""spec":{}"#),
];

/// The result is stored as a digest.
const LONG: &str = concat!(
    r#""spec":{"hosts":[{"h":"a.very.long.name.of.a.host.that.is.told.by.a.digest.example.com","#,
    r#""tls":"off.and.a.long.text.for.no.other.reason.than.that.it.is.long"},{"h":"b"}]}"#
);
const LONG_UNSAID: &str = concat!(
    r#""spec":{"hosts":[{"h":"a.very.long.name.of.a.host.that.is.told.by.a.digest.and.not.by.itself.because.it.is.so."#,
    r#"long.example.com"},{"h":"b"}]}"#
);

#[test]
fn later_default_is_no_edit() {
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
        let mut versions = webhook.kinds()[0].versions();
        let to = versions.find(|version| *version != from).unwrap();
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

/// A default of the API server does not hide an edit.
#[test]
fn edit_next_to_default_counts() {
    let webhook = Webhook::new(vec![load("guard-with-default").unwrap()], Metadata::Full).unwrap();
    let convert = |object: &str, to: &str| webhook.convert(object, to).unwrap().text;
    let object = r#"{"apiVersion":"example.com/v2","kind":"Thing","metadata":{"name":"a","uid":"u"},"spec":{"hosts":[{"h":"a"},{"h":"b"}]}}"#;
    let there = convert(object, "v1");
    let spec = r#""spec":{"host":{"h":"a"}}"#;
    assert!(there.contains(spec), "{there}");
    for (edit, home) in [
        (r#""spec":{"host":{"h":"c"}}"#, r#""spec":{"hosts":[{"h":"c"}]}"#),
        (r#""spec":{"host":{"h":"c","tls":"on"}}"#, r#""spec":{"hosts":[{"h":"c","tls":"on"}]}"#),
        (r#""spec":{"host":{"h":"a","tls":"off"}}"#, r#""spec":{"hosts":[{"h":"a","tls":"off"}]}"#),
    ] {
        let back = convert(&there.replace(spec, edit), "v2");
        assert!(back.contains(home), "{edit}: {back}");
    }
}
