//! The kinds of the conversion tests: the embedded kind, and the kinds in `tests/data/kinds`.

use std::path::Path;
use std::sync::LazyLock;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{ConvertError, Converted, Metadata, Webhook};

use crate::value::{self, Value, Way, Written};

/// A server with all of these kinds.
pub(crate) static WEBHOOK: LazyLock<Webhook> = LazyLock::new(|| {
    let mut kinds = Kind::embedded().unwrap_or_else(|error| panic!("{error}"));
    kinds.extend(["mailboxes.yaml", "proxies.yaml", "widgets.yaml"].map(load));
    Webhook::new(kinds, Metadata::Identity).unwrap()
});

pub(crate) fn data(path: &str) -> String {
    // The fuzz targets are a separate crate next to `tests`.
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let folder = folders.find_map(|folder| Some(folder.join("tests/data")).filter(|data| data.is_dir()));
    let path = folder.unwrap().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn load(file: &str) -> Kind {
    let mut read = |name: &str| Ok(data(&format!("kinds/{name}")));
    Kind::load(file, &data(&format!("kinds/{file}")), &mut read).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn kind(name: &str) -> &'static Kind {
    WEBHOOK.kinds().iter().find(|kind| kind.name() == name).unwrap()
}

/// The schema of a version.
pub(crate) fn schema(kind: &'static Kind, version: &str) -> &'static serde_json::Value {
    let versions = kind.crd().pointer("/spec/versions").and_then(serde_json::Value::as_array).unwrap();
    let version = versions.iter().find(|other| other["name"] == version).unwrap();
    &version["schema"]["openAPIV3Schema"]
}

/// Converts an object with all its metadata.
pub(crate) fn convert(object: &Value, to: &str) -> Result<Value, ConvertError> {
    converted(object, to).map(|converted| Value::parse(&converted.text))
}

pub(crate) fn converted(object: &Value, to: &str) -> Result<Converted, ConvertError> {
    WEBHOOK.convert(&object.to_text(), to)
}

/// The fields that an operation reads and writes, by version.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    pub(crate) older: Vec<Way>,
    pub(crate) newer: Vec<Way>,
    /// The operation works inside the items of a list or map.
    pub(crate) each: bool,
}

impl Touched {
    pub(crate) fn of(&self, newer: bool) -> &[Way] {
        if newer { &self.newer } else { &self.older }
    }
}

/// The definition's step between two versions, restated for the tests.
pub(crate) fn touched(kind: &Kind, older: &str, newer: &str) -> Vec<Touched> {
    let text = match kind.name() {
        "materialize" => include_str!("../../kinds/materialize/materialize.yaml").to_owned(),
        name => data(&format!("kinds/{}", FILES.iter().find(|(kind, _)| *kind == name).unwrap().1)),
    };
    let document = Value::yaml(&text);
    let Some(Value::List(steps)) = document.get("steps") else { panic!("no steps") };
    let versions = |step: &&Value| {
        step.field("from") == Some(&value::text(older)) && step.field("to") == Some(&value::text(newer))
    };
    let Some(Value::List(operations)) = steps.iter().find(versions).unwrap().get("operations") else {
        panic!("no operations")
    };
    let mut touched: Vec<Touched> = operations.iter().map(operation).collect();
    if let Some(status) = document.field("rolloutStatus") {
        let ways = |fields: &str| -> Vec<Way> {
            ["requested", "completed"]
                .iter()
                .map(|which| field(status.field(&format!("{fields}.{which}")).unwrap()))
                .collect()
        };
        touched.push(Touched {
            older: [ways("requests"), ways("hashes")].concat(),
            newer: ways("hashes"),
            each: false,
        });
    }
    touched
}

const FILES: [(&str, &str); 3] = [("mailbox", "mailboxes.yaml"), ("proxy", "proxies.yaml"), ("widget", "widgets.yaml")];

fn field(path: &Value) -> Way {
    value::way(path.as_str().unwrap())
}

fn operation(written: &Value) -> Touched {
    let Value::Object(members) = written else { panic!("no operation: {written:?}") };
    let (name, body) = members.iter().next().unwrap();
    let same = ["field", "in"].iter().find_map(|key| body.get(key)).or_else(|| body.as_str().map(|_| body));
    let side = |key: &str| vec![field(body.get(key).or(same).unwrap())];
    let (older, newer) = match name.as_str() {
        "drop" => (side("field"), vec![]),
        "add" => (vec![], side("field")),
        "split" => {
            let Some(Value::List(parts)) = body.get("into") else { panic!("no parts") };
            (side("field"), parts.iter().map(field).collect())
        }
        "moveIntoMap" => {
            let mut entry = field(body.get("map").unwrap());
            entry.push(value::Step::Name(body.get("key").unwrap().as_str().unwrap().to_owned()));
            ([side("field"), vec![entry.clone()]].concat(), vec![entry])
        }
        _ => (side("from"), side("to")),
    };
    Touched { older, newer, each: name == "each" }
}
