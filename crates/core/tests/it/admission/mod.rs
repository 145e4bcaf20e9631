//! Admission through the public API: reviews in, responses out, processed like in the API server.

mod apiserver;
mod captures;
mod cel;
mod complete;
mod definitions;
mod enforcement;
mod flips;
mod handover;
mod judging;
mod kept_entries;
mod keys;
mod marks;
mod matrix;
mod misdirected;
mod mutate;
mod objects;
mod patch;
mod random_rules;
mod ratchet;
mod refusals;
mod rules;
mod stale;
mod stamps;
mod told;
mod warnings;
mod windows;
mod writes;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{ControllerVersion, Enforcement, Metadata, Settings, Webhook};
use serde_json::{Value, json};

pub(crate) fn data(name: &str) -> String {
    let path = format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn load(name: &str) -> Kind {
    let mut read = |file: &str| Ok(data(&format!("kinds/{file}")));
    Kind::load(name, &data(&format!("kinds/{name}")), &mut read).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn embedded(name: &str) -> Kind {
    let kinds = Kind::embedded().unwrap();
    kinds.into_iter().find(|kind| kind.name() == name).unwrap()
}

/// The example with one version and two controllers.
pub(crate) fn elasticsearch() -> Kind {
    let read = |file: &str| {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/kinds/elasticsearch");
        std::fs::read_to_string(format!("{dir}/{file}"))
    };
    let (name, mut crd) = ("elasticsearch.yaml", |file: &str| read(file));
    Kind::load(name, &read(name).unwrap(), &mut crd).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn version(text: &str) -> ControllerVersion {
    text.parse().unwrap()
}

/// A server of one controller version, or of none.
fn serving(kind: Kind, controller: Option<&str>, more: Settings) -> Webhook {
    let settings = Settings { controller: controller.map(version), ..more };
    Webhook::new(vec![kind], Metadata::Identity).unwrap().admitting(settings)
}

/// A server that is responsible for every object.
fn plain(kind: Kind, enforcement: Enforcement) -> Webhook {
    serving(kind, None, Settings { enforcement, ..Settings::default() })
}

fn gadget(version: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"),
        "kind": "Gadget",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": spec,
    })
}

/// The object with one field set, or removed if the value is null.
fn with(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/");
    let mut here = &mut object;
    for part in parent.split('/').skip(1) {
        let part = part.replace("~1", "/");
        here = here.as_object_mut().unwrap().entry(part).or_insert_with(|| json!({}));
    }
    let here = here.as_object_mut().unwrap();
    if value.is_null() {
        here.remove(&name);
    } else {
        here.insert(name, value);
    }
    object
}
