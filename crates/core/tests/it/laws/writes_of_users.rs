//! The API server's validation of a write before it calls a webhook.

use std::collections::BTreeSet;

use super::objects::{complete, hostile};
use super::on_every_trip;
use crate::kinds;
use crate::value::{Value, Written};
use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::{answered, bad_metadata, unknown_fields};

/// The object without the members at these paths.
fn without(value: &Value, at: &str, paths: &BTreeSet<String>) -> Value {
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match value {
        Value::Object(members) => {
            let left = members.iter().filter(|(name, _)| !paths.contains(&below(name)));
            Value::Object(left.map(|(name, member)| (name.clone(), without(member, &below(name), paths))).collect())
        }
        Value::List(elements) => {
            let elements = elements.iter().enumerate();
            Value::List(elements.map(|(index, one)| without(one, &format!("{at}[{index}]"), paths)).collect())
        }
        other => other.clone(),
    }
}

/// Number of members at all depths, except nulls, which are removed for another reason.
fn members(value: &Value) -> usize {
    match value {
        Value::Object(of) => of.values().filter(|one| **one != Value::Null).map(|one| 1 + members(one)).sum(),
        Value::List(elements) => elements.iter().map(members).sum(),
        _ => 0,
    }
}

#[test]
fn only_unknown_fields_are_pruned() {
    for (share, make) in [(2, &complete as &dyn Fn(&super::Trip, u64) -> Value), (1, &hostile)] {
        let seen = on_every_trip(share, make, &|trip, seen, object, _| {
            let schema = trip.schema_from();
            let named: BTreeSet<String> = unknown_fields(schema, object).into_iter().map(|field| field.path).collect();
            seen.note("named", !named.is_empty());
            let left = without(object, "", &named);
            let more = unknown_fields(schema, &left);
            if !more.is_empty() {
                return Err(format!("named only once others are gone: {more:?}"));
            }
            let (Ok(whole), Ok(known)) = (answered(schema, object), answered(schema, &left)) else {
                return Ok(());
            };
            if whole != known {
                return Err(format!("of what is named something stays: {named:?}"));
            }
            match (members(&left), members(&known)) {
                (left, known) if left != known => Err(format!("{left} members, of which {known} stay")),
                _ => Ok(()),
            }
        });
        seen.at_least(10, "named");
    }
}

/// By `ValidateObjectMeta` of apimachinery.
#[test]
fn invalid_metadata_names_its_field() {
    let widget = kinds::kind("widget");
    let bad = |metadata: &str| {
        let object = Value::parse(&format!(r#"{{"metadata": {metadata}}}"#));
        bad_metadata(widget, &object).map(|bad| format!("{} {}", bad.field, bad.message))
    };
    let long = |count: usize| "a".repeat(count);
    for good in [
        r#"{"name": "a"}"#.to_owned(),
        r#"{"name": "a.b-c.0"}"#.to_owned(),
        format!(r#"{{"name": "{}"}}"#, long(253)),
        r#"{"generateName": "a-", "namespace": "n-0", "labels": null}"#.to_owned(),
        r#"{"name": "a", "labels": {"a": "", "example.com/A_b.c": "D.e_F"}, "annotations": {"EXAMPLE.com/x": "\n y"}}"#
            .to_owned(),
        format!(r#"{{"name": "a", "annotations": {{"k": "{}"}}}}"#, long(256 * 1024 - 1)),
    ] {
        assert_eq!(bad(&good), None, "{good}");
    }
    for (metadata, said) in [
        ("{}".to_owned(), "metadata.name is missing, and so is generateName"),
        (r#"{"name": null}"#.to_owned(), "metadata.name is missing"),
        (r#"{"name": "Widget"}"#.to_owned(), "metadata.name cannot be \"Widget\": must have lower-case letters"),
        (r#"{"name": "a_b"}"#.to_owned(), "metadata.name cannot be"),
        (r#"{"name": "a."}"#.to_owned(), "metadata.name cannot be"),
        (r#"{"name": "-a"}"#.to_owned(), "metadata.name cannot be"),
        (r#"{"name": "ä"}"#.to_owned(), "metadata.name cannot be"),
        (format!(r#"{{"name": "{}"}}"#, long(254)), "metadata.name cannot be"),
        (r#"{"generateName": "A-"}"#.to_owned(), "metadata.generateName cannot be"),
        (r#"{"generateName": "-"}"#.to_owned(), "metadata.generateName cannot be"),
        (r#"{"name": "a", "namespace": "a.b"}"#.to_owned(), "metadata.namespace cannot be"),
        (r#"{"name": "a", "labels": {"a b": "c"}}"#.to_owned(), "metadata.labels.a b cannot be \"a b\""),
        (r#"{"name": "a", "labels": {"a": "b c"}}"#.to_owned(), "metadata.labels.a cannot be \"b c\""),
        (r#"{"name": "a", "labels": {"a": 1}}"#.to_owned(), "metadata.labels.a has a wrong type: 1"),
        (r#"{"name": "a", "labels": []}"#.to_owned(), "metadata.labels has a wrong type: []"),
        (r#"{"name": "a", "annotations": {"/a": ""}}"#.to_owned(), "metadata.annotations./a cannot be \"/a\""),
        (r#"{"name": "a", "annotations": {"a": true}}"#.to_owned(), "metadata.annotations.a has a wrong type: true"),
        (
            format!(r#"{{"name": "a", "annotations": {{"k": "{}"}}}}"#, long(256 * 1024)),
            "metadata.annotations are 262145 bytes together, and may be 262144",
        ),
    ] {
        let refused = bad(&metadata).unwrap_or_default();
        assert!(refused.starts_with(said), "{said}: {refused}");
    }
}

/// The API server ignores the namespace of a cluster-scoped object.
#[test]
fn superfluous_namespace_is_ignored() {
    let crd = kinds::data("kinds/widgets.crd.yaml").replace("scope: Namespaced", "scope: Cluster");
    let everywhere = Kind::from_crd(&kinds::data("kinds/widgets.yaml"), &crd).unwrap();
    let object = Value::parse(r#"{"metadata": {"name": "a", "namespace": "a.b"}}"#);
    assert_eq!(
        (bad_metadata(&everywhere, &object), bad_metadata(kinds::kind("widget"), &object).is_some()),
        (None, true)
    );
}
