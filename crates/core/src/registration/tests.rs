use serde_json::{Value, json};

use super::{
    Address, BadAddress, ClientConfig, CrdOptions, GuardMode, NamespacedName, Selection, Service, Trust, Url, crd,
    guard, webhooks,
};
use crate::{definition::Kind, webhook::ControllerVersion};

const CRD: &str = include_str!("../../../../tests/data/kinds/widgets.crd.yaml");
const DEFINITION: &str = include_str!("../../../../tests/data/kinds/widgets.yaml");

fn widgets(group: &str) -> Kind {
    let crd = CRD.replace("example.com", group);
    Kind::load("widgets.yaml", DEFINITION, &mut |_| Ok(crd.clone())).unwrap()
}

fn names(kind: &Kind) -> Vec<String> {
    let version: ControllerVersion = "2.17.0".parse().unwrap();
    let address = Address::Url("https://127.0.0.1:8443".parse().unwrap());
    let client = ClientConfig { address, trust: Trust::SystemRoots };
    let of = |selection| webhooks(kind, &version, selection, &client);
    let documents = [of(Selection::Labelled), of(Selection::Unlabelled)].concat();
    let policy = guard(kind, &[version], GuardMode::Deny);
    let name = |document: &Value| format!("{} {}", document["kind"].as_str().unwrap(), document["metadata"]["name"]);
    documents.iter().chain(&policy).map(name).collect()
}

#[test]
fn same_plural_keeps_both_kinds() {
    let (one, two) = (names(&widgets("example.com")), names(&widgets("example.org")));
    assert_eq!(one.len(), 6);
    assert!(one.iter().all(|name| !two.contains(name)), "{one:?}");
    assert!(one.iter().enumerate().all(|(at, name)| !one[..at].contains(name)), "{one:?}");
}

fn conversion(address: Address) -> Value {
    let conversion = Some(ClientConfig { address, trust: Trust::SystemRoots });
    let options = CrdOptions { conversion, ..CrdOptions::default() };
    let crd = crd(&widgets("example.com"), &options).unwrap();
    crd["spec"]["conversion"]["webhook"]["clientConfig"].clone()
}

#[test]
fn addresses_match_apiserver_rules() {
    let url = |text: &str| text.parse::<Url>();
    let called = |text: &str| conversion(Address::Url(url(text).unwrap()));
    assert_eq!(called("https://a:8443"), json!({"url": "https://a:8443/convert"}));
    assert_eq!(called("https://a:8443/"), json!({"url": "https://a:8443/convert"}));
    assert_eq!(called("https://a/b/c"), json!({"url": "https://a/b/c"}));
    assert_eq!(url("http://a"), Err(BadAddress::Scheme));
    assert_eq!(url("a"), Err(BadAddress::Scheme));
    for bad in ["https://", "https:///a", "https://u@a", "https://a?b", "https://a b"] {
        assert_eq!(url(bad), Err(BadAddress::Url), "{bad}");
    }
    let service = "ns/name".parse().unwrap();
    assert_eq!(
        conversion(Address::Service(service)),
        json!({"service": {"namespace": "ns", "name": "name", "port": 443, "path": "/convert"}})
    );
    for bad in ["name", "ns/", "/name", "ns/name:0", "ns/name:x", "ns/name:65536", "Ns/name", ""] {
        bad.parse::<Service>().unwrap_err();
    }
}

#[test]
fn only_service_name_takes_version() {
    assert!(Address::Service(Service::per_version("ns/a-{version}:8443").unwrap()).is_per_version());
    assert!(!Address::Service(Service::per_version("ns/a").unwrap()).is_per_version());
    for bad in ["ns-{version}/a", "ns/a-{Version}", "ns/a-{version}:{version}"] {
        Service::per_version(bad).unwrap_err();
    }
    "ns/a-{version}".parse::<Service>().unwrap_err();
    "ns/a-{version}".parse::<NamespacedName>().unwrap_err();
}
