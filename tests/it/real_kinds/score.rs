//! The results of a kind, compared with the recorded results of upstream's own conversion.

use std::fs;
use std::path::Path;

use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::read;
use pointsman_core::laws::{Value, schema_of, without_ours};
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::Value as Json;

/// The results of one kind.
#[derive(Default)]
pub(crate) struct Score {
    pub(crate) cases: usize,
    pub(crate) equal: usize,
    pub(crate) home: usize,
    /// The cases whose result differs from upstream's, from 0.
    pub(crate) differing: Vec<usize>,
}

/// Converts the recorded objects of a directory, and compares the results with those of upstream.
pub(crate) fn scored(kind: Kind, dir: &Path) -> Score {
    let webhook = Webhook::new(vec![kind], Metadata::Identity).unwrap();
    let kind = &webhook.kinds()[0];
    let mut score = Score::default();
    let Ok(text) = fs::read_to_string(dir.join("cases.yaml")) else { return score };
    let file: Json = serde_saphyr::from_str(&text).unwrap();
    for (index, case) in file["cases"].as_array().unwrap().iter().enumerate() {
        score.cases += 1;
        let (to, from) = (case["to"].as_str().unwrap(), case["object"]["apiVersion"].as_str().unwrap());
        let from = from.rsplit('/').next().unwrap();
        let object = stored(kind, from, &Value::literal(&case["object"]));
        let Ok(converted) = webhook.convert(&object.to_text(), to) else {
            score.differing.push(index);
            continue;
        };
        let there = stored(kind, to, &Value::read(&converted.text).unwrap());
        let upstream = stored(kind, to, &Value::literal(case.get("upstream").unwrap_or_else(|| &case["expected"])));
        match plain(&json(&there)) == plain(&json(&upstream)) {
            true => score.equal += 1,
            false => score.differing.push(index),
        }
        let back = webhook.convert(&converted.text, from);
        let back = back.ok().map(|back| without_ours(&Value::read(&back.text).unwrap()));
        score.home += usize::from(back.as_ref() == Some(&without_ours(&object)));
    }
    score
}

/// The object as the API server stores it, with defaults.
fn stored(kind: &Kind, version: &str, object: &Value) -> Value {
    read(schema_of(kind, version).unwrap(), object).unwrap()
}

fn json(object: &Value) -> Json {
    serde_json::from_str(&object.to_text()).unwrap()
}

/// An object for the comparison with upstream. Go's conversion writes the zero value of a type for an absent field, or
/// omits the field, by the tags of its types, so that both spellings count as equal. Annotations that only serve a way
/// back are removed.
fn plain(value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let is_kept = |name: &str| !RECORDS.iter().any(|record| name.starts_with(record));
            let members = members.iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (name, plain(value)));
            Json::Object(
                members.filter(|(_, value)| !is_zero(value)).map(|(name, value)| (name.clone(), value)).collect(),
            )
        }
        Json::Array(elements) => Json::Array(elements.iter().map(plain).filter(|element| !is_zero(element)).collect()),
        other => other.clone(),
    }
}

fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(value) => !value,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(elements) => elements.is_empty(),
        Json::Object(members) => members.is_empty(),
    }
}

/// Annotations of pointsman and of upstream for a way back.
const RECORDS: [&str; 5] = [
    "pointsman.dev/kept-",
    "cluster.x-k8s.io/conversion-data",
    "compatibility.karpenter.sh/",
    "tekton.dev/v1beta1",
    "kueue.x-k8s.io/conversion",
];
