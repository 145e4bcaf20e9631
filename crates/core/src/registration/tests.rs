use serde_json::Value;

use super::{Client, GuardMode, Selection, guard, webhooks};
use crate::definition::Kind;
use crate::webhook::ControllerVersion;

const CRD: &str = include_str!("../../../../tests/data/kinds/widgets.crd.yaml");
const DEFINITION: &str = include_str!("../../../../tests/data/kinds/widgets.yaml");

fn widgets(group: &str) -> Kind {
    let crd = CRD.replace("example.com", group);
    Kind::load("widgets.yaml", DEFINITION, &mut |_| Ok(crd.clone())).unwrap()
}

fn names(kind: &Kind) -> Vec<String> {
    let version: ControllerVersion = "2.17.0".parse().unwrap();
    let client = Client::Url("https://127.0.0.1:8443".to_owned());
    let of = |selection| webhooks(kind, &version, selection, &client, None, &[]);
    let documents = [of(Selection::Labelled), of(Selection::Unlabelled)].concat();
    let policy = guard(kind, &[version], GuardMode::Deny);
    let name = |document: &Value| {
        format!("{} {}", document["kind"].as_str().unwrap(), document["metadata"]["name"])
    };
    documents.iter().chain(&policy).map(name).collect()
}

#[test]
fn kinds_with_the_same_plural_do_not_overwrite_each_other() {
    let (one, two) = (names(&widgets("example.com")), names(&widgets("example.org")));
    assert_eq!(one.len(), 6);
    assert!(one.iter().all(|name| !two.contains(name)), "{one:?}");
    assert!(one.iter().enumerate().all(|(at, name)| !one[..at].contains(name)), "{one:?}");
}
