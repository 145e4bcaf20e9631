//! A kind becomes another kind: the laws between the two, and what of an object is not the other one's.

use pointsman_core::definition::{BadDefinition, Kind};
use pointsman_core::laws::{CheckOptions, Survey, Words, survey};
use pointsman_core::webhook::{BecomeError, Facts, Metadata, OtherKind, Webhook};
use serde_json::{Value, json};

const DEFINITION: &str = include_str!("../../kinds/mattermost/mattermost.yaml");

fn file(name: &str) -> std::io::Result<String> {
    std::fs::read_to_string(format!("{}/kinds/mattermost/{name}", env!("CARGO_MANIFEST_DIR")))
}

fn mattermost() -> Kind {
    load(DEFINITION).unwrap_or_else(|error| panic!("{error}"))
}

fn load(text: &str) -> Result<Kind, BadDefinition> {
    Kind::load("mattermost.yaml", text, &mut file)
}

fn facts(external: &str) -> Facts {
    [("externalDatabase", external)].into_iter().collect()
}

const NEW: OtherKind<'_> = OtherKind { group: "installation.mattermost.com", kind: "Mattermost", version: None };
const OLD: OtherKind<'_> = OtherKind { group: "mattermost.com", kind: "ClusterInstallation", version: None };

fn webhook() -> Webhook {
    Webhook::new(vec![mattermost()], Metadata::Full).unwrap()
}

fn becomes(object: &Value, to: OtherKind<'_>, facts: &Facts) -> Result<Value, BecomeError> {
    let (converted, _) = webhook().become_kind(&object.to_string(), to, facts)?;
    Ok(serde_json::from_str(&converted.text).unwrap())
}

fn installation(spec: Value) -> Value {
    json!({
        "apiVersion": "mattermost.com/v1alpha1",
        "kind": "ClusterInstallation",
        "metadata": {"name": "chat", "namespace": "talk"},
        "spec": spec,
    })
}

/// The laws over both kinds as one of two versions.
fn judged(external: &str, seed: u64, cases: u64) -> Survey {
    let versions = mattermost().take_becoming().unwrap().into_versions();
    let webhook = Webhook::new(vec![versions], Metadata::Full).unwrap().knowing(facts(external));
    let (words, converted) = (Words::default(), || {});
    let mut options =
        CheckOptions { seed, cases, laws: &[], words: &words, go_on: &mut || true, converted: &converted };
    survey(&webhook, &webhook.kinds()[0], &[], &mut options)
}

#[test]
fn a_kind_that_becomes_another_keeps_every_law() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (seed, cases) = (number("POINTSMAN_SEED", 0), number("POINTSMAN_CASES", 150) / 10);
    let mut missing = Vec::new();
    for external in ["true", "false"] {
        let found = judged(external, seed, cases.max(1));
        let broken: Vec<String> = found.results.iter().filter_map(|it| Some(it.broken.as_ref()?.to_string())).collect();
        assert!(broken.is_empty(), "externalDatabase={external}: {} laws\n\n{}", broken.len(), broken.join("\n\n"));
        missing.push(found.unexercised);
    }
    let never: Vec<_> = missing[0].iter().filter(|what| missing[1].contains(what)).collect();
    assert!(cases < 15 || never.is_empty(), "{never:#?}");
}
