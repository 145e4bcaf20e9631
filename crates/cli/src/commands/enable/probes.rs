//! Test conversions for every endpoint before the first change.

use anyhow::Context;
use pointsman_cluster::Probe;
use pointsman_core::definition::Kind;
use pointsman_core::laws::{Dictionary, Make, ObjectSource};
use pointsman_core::webhook::{Endpoint, Request, Webhook};
use serde_json::{Value, json};

/// A review for each pair of versions in each direction, with objects generated from the schemas, and the expected
/// results of this definition. Detects servers with another definition.
pub(super) fn probes(webhook: &Webhook, kind: &Kind) -> anyhow::Result<Vec<Probe>> {
    let versions: Vec<&str> = kind.versions().collect();
    let words = Dictionary::default();
    let mut probes = Vec::new();
    for from in &versions {
        let source = ObjectSource::new(kind, from, &words).context("a version has no schema")?;
        let objects: Vec<Value> = (0..OBJECTS).filter_map(|seed| object(&source, webhook, seed)).collect();
        for to in versions.iter().filter(|to| *to != from) {
            let review = review(&format!("{}/{to}", kind.group()), &objects);
            let reply = webhook.handle(&Request::new(Endpoint::Convert, review.to_string().as_bytes()))?;
            let answer: Value = serde_json::from_slice(&reply.body)?;
            let converted = answer.pointer("/response/convertedObjects").cloned().unwrap_or_default();
            probes.push(Probe { to: (*to).to_owned(), review, converted });
        }
    }
    Ok(probes)
}

/// An object of each version, with the label of a controller version if given.
pub(super) fn samples(webhook: &Webhook, kind: &Kind, label: Option<&str>) -> anyhow::Result<Vec<Value>> {
    let words = Dictionary::default();
    let made = kind.versions().map(|version| {
        let source = ObjectSource::new(kind, version, &words).context("a version has no schema")?;
        let mut sample = object(&source, webhook, 0).context("no sample object fits the schema")?;
        let labels = label.map(|label| json!({kind.version_label(): label}));
        if let Some(metadata) = sample.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("uid");
            metadata.extend(labels.map(|labels| ("labels".to_owned(), labels)));
        }
        Ok(sample)
    });
    made.collect()
}

/// Enough objects to cover most operations.
const OBJECTS: u64 = 4;

/// A valid object with a name of pointsman, and only the metadata that every server returns.
fn object(source: &ObjectSource<'_>, webhook: &Webhook, seed: u64) -> Option<Value> {
    let made = source.make(Make::Pruned, webhook, seed).to_text();
    let mut object: Value = serde_json::from_str(&made).ok()?;
    let name = format!("pointsman-self-test-{seed}");
    object.as_object_mut()?.insert("metadata".to_owned(), json!({"name": name, "namespace": "default", "uid": name}));
    Some(object)
}

fn review(to: &str, objects: &[Value]) -> Value {
    let request = json!({"uid": "pointsman-self-test", "desiredAPIVersion": to, "objects": objects});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
}

#[cfg(test)]
mod tests {
    use pointsman_core::webhook::Metadata;

    use super::*;

    #[test]
    fn every_version_pair_is_probed() {
        let webhook = Webhook::new(Kind::embedded().unwrap(), Metadata::Identity).unwrap();
        for kind in webhook.kinds() {
            let versions = kind.versions().count();
            let probes = probes(&webhook, kind).unwrap();
            assert_eq!(probes.len(), versions * (versions - 1));
            for probe in probes {
                assert_eq!(probe.converted.as_array().map(Vec::len), Some(4));
            }
        }
    }
}
