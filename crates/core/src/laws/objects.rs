//! Generates whole objects, valid and invalid.

use std::sync::Arc;

use serde_json::Value as Schema;

use super::apiserver::{ANNOTATIONS, decode, fill, invalid, read};
use super::focus::Focus;
use super::generate::{Dictionary, FillRatio, anything, focused};
use super::random::Random;
use super::rollouts::rollouts;
use super::schema::{flag, property, relaxed, required, schema_at};
use super::value::{Segment, Value};
use crate::definition::{Kind, MetadataField, MetadataMap, version_schema};
use crate::webhook::Webhook;

/// The namespace of all generated objects.
pub(super) const NAMESPACE: &str = "b";

/// A source of objects of one version.
#[derive(Clone, Debug)]
pub struct ObjectSource<'k> {
    /// The kind.
    pub kind: &'k Kind,
    /// The name of the version.
    pub version: &'k str,
    /// The schema of the version, without the requirements of fields that objects may lack.
    pub schema: &'k Schema,
    /// The schema without required fields.
    pub(super) relaxed: Arc<Schema>,
    focus: Arc<Focus>,
    /// Strings for fields of some names.
    pub words: &'k Dictionary,
}

/// The schema of a version in the CRD.
#[must_use]
pub fn schema_of<'k>(kind: &'k Kind, version: &str) -> Option<&'k Schema> {
    version_schema(kind.crd(), version)
}

/// Returns whether the version has the status subresource: then a write of the object leaves its status alone.
#[must_use]
pub fn has_status_subresource(kind: &Kind, version: &str) -> bool {
    kind.version(version).is_some_and(|version| kind.version_at(version).status_apart)
}

/// The kinds of generated objects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Make {
    /// As the API server would store it: valid, with defaults. Some have unknown fields.
    Complete,
    /// Complete, without unknown fields.
    Pruned,
    /// With missing fields, including required fields and metadata, like the part of an object that one field manager
    /// owns.
    Sparse,
    /// With arbitrary values in arbitrary places.
    Hostile,
    /// Complete, with one string of the maximum length, a number that Go cannot decode, or annotations of the maximum
    /// size.
    Heavy,
}

impl<'k> ObjectSource<'k> {
    /// The objects of a version. `None` if the kind has no such version.
    #[must_use]
    pub fn new(kind: &'k Kind, version: &'k str, words: &'k Dictionary) -> Option<Self> {
        let schema = version_schema(kind.lenient_crd(), version)?;
        let (relaxed, focus) = (Arc::new(relaxed(schema)), Arc::new(Focus::of(kind, version)));
        Some(Self { kind, version, schema, relaxed, focus, words })
    }

    /// Generates an object, deterministic for a seed.
    #[must_use]
    pub fn make(&self, make: Make, webhook: &Webhook, seed: u64) -> Value {
        let mut random = Random::new(seed);
        let optional = [90, 50, 10].get(random.below(3)).copied().unwrap_or(50);
        let unknown = if make != Make::Pruned && random.percent(25) { 20 } else { 0 };
        let fullness = FillRatio { optional, unknown };
        let mut object = self.complete(&mut random, webhook, fullness);
        match make {
            Make::Complete | Make::Pruned => {}
            Make::Sparse => self.thin_out(&mut random, &mut object),
            Make::Hostile => {
                if random.percent(50) {
                    self.thin_out(&mut random, &mut object);
                }
                spoil(&mut random, &mut object);
            }
            Make::Heavy => self.blow_up(&mut random, &mut object),
        }
        object
    }

    fn complete(&self, random: &mut Random, webhook: &Webhook, fullness: FillRatio) -> Value {
        let mut object = focused(random, self.schema, fullness, self.words, &self.focus);
        if !object.is_object() {
            object = Value::object();
        }
        if object.get("spec").is_none() && property(self.schema, "spec").is_some() && random.percent(85) {
            object.set("spec", Value::object());
        }
        self.head(random, &mut object);
        fill(self.schema, &mut object);
        if random.percent(50) {
            self.match_hashes(random, webhook, &mut object);
        }
        object
    }

    /// Sets the hash in the status to that of the spec, like a controller.
    fn match_hashes(&self, random: &mut Random, webhook: &Webhook, object: &mut Value) {
        let rollouts = rollouts(self.kind);
        if rollouts.is_empty() {
            return;
        }
        let Ok(preimage) = webhook.preimage(&object.to_text()) else { return };
        for rollout in &rollouts {
            if random.percent(60) && object.field(&rollout.hash).is_some() {
                object.set(&rollout.hash, Value::text(&preimage.hash()));
            }
        }
        if let [requested, completed] = rollouts.as_slice()
            && random.percent(40)
            && object.field(&completed.request).is_some()
        {
            let request = object.field(&requested.request).cloned();
            object.set(&completed.request, request.unwrap_or(Value::Null));
        }
    }

    fn head(&self, random: &mut Random, object: &mut Value) {
        let (api_version, kind) = self.identity();
        object.set("apiVersion", Value::text(api_version));
        object.set("kind", Value::text(kind));
        let mut metadata = Value::object();
        for (name, value) in [("name", "a"), ("namespace", NAMESPACE), ("uid", "c")] {
            metadata.set(name, Value::text(value));
        }
        metadata.set("generation", Value::Number("2".to_owned()));
        metadata.set("finalizers", Value::List(vec![Value::text("x/y")]));
        if random.percent(50) {
            metadata.set("labels/app", Value::text("x"));
            metadata.set("labels/example.com", Value::text(""));
        }
        match random.below(20) {
            0 => metadata.set("annotations", Value::object()),
            1..10 => {
                metadata.set("annotations/a", Value::text("b"));
                metadata.set("annotations/é", Value::text("\n"));
                if let (Some(force), Some(Value::Object(all))) =
                    (self.kind.force_annotation(), metadata.at_mut(&super::value::way("annotations")))
                {
                    all.insert(force.to_owned(), Value::text("x"));
                }
            }
            _ => {}
        }
        self.metadata_fields(random, &mut metadata);
        object.set("metadata", metadata);
    }

    /// Adds annotations and labels that operations convert.
    fn metadata_fields(&self, random: &mut Random, metadata: &mut Value) {
        for MetadataField { map, key } in self.kind.steps.iter().flat_map(|step| &step.metadata_fields) {
            if random.percent(40) {
                continue;
            }
            if metadata.get(map.name()).is_none() {
                metadata.set(map.name(), Value::object());
            }
            let value = match map {
                MetadataMap::Annotations => random.word(&["", "a", "-", "5m", "7", "true", "a:b", "é\n"]),
                MetadataMap::Labels => random.word(&["", "a", "5m", "7", "true", "a.b"]),
            };
            if let Some(Value::Object(all)) = metadata.at_mut(&[Segment::Name(map.name().to_owned())]) {
                all.insert(key.clone(), Value::text(value));
            }
        }
    }

    /// `apiVersion` and `kind` of the objects.
    pub(super) fn identity(&self) -> (&'k str, &'k str) {
        let version = self.kind.version(self.version).map(|index| self.kind.version_at(index));
        version.map_or_else(|| (self.version, self.kind.kind()), |version| (&version.api_version, &version.kind))
    }

    fn thin_out(&self, random: &mut Random, object: &mut Value) {
        if random.percent(60) {
            // Without a required field the object is incomplete.
            let spec = self.schema.pointer("/properties/spec");
            match spec.and_then(|spec| required(spec).next()) {
                Some(name) => object.take(&format!("spec/{name}")),
                None => {
                    object.take("spec");
                    // Without required fields, an object without a uid is incomplete.
                    object.take("metadata/uid")
                }
            };
        }
        for _ in 0..random.below(6) {
            let ways = object.ways();
            if let Some(way) = random.pick(&ways).filter(|way| !is_head(way)) {
                object.remove(way);
            }
        }
    }

    /// Adds a string of the maximum length, or a number that Go cannot decode, or fills the annotations.
    fn blow_up(&self, random: &mut Random, object: &mut Value) {
        if random.percent(25) {
            object.set("metadata.annotations", Value::object());
            object.set("metadata.annotations.big", Value::Text("x".repeat(ANNOTATIONS - 20 - random.below(200))));
            return;
        }
        let mut ways = object.ways();
        ways.retain(|way| {
            let free = |schema: &Schema| {
                !["enum", "format", "pattern", "maxLength"].iter().any(|key| schema.get(*key).is_some())
            };
            is_contents(way)
                && matches!(object.at(way), Some(Value::Text(_)))
                && schema_at(self.schema, way).is_some_and(free)
        });
        let Some(place) = random.pick(&ways).and_then(|way| object.at_mut(way)) else { return };
        *place = Value::Text(match random.below(3) {
            0 => "x".repeat(300_000),
            1 => format!("1{}", "0".repeat(309)),
            _ => "1E400".to_owned(),
        });
    }

    /// A sample as the API server would return it, with a name, a namespace and a uid, and why it is incomplete, if it
    /// is.
    pub(super) fn sample(&self, object: &Value) -> (Value, Option<String>) {
        let mut object = object.clone();
        if !object.get("metadata").is_some_and(Value::is_object) {
            object.set("metadata", Value::object());
        }
        for (name, value) in [("name", "a"), ("namespace", NAMESPACE), ("uid", "c")] {
            if object.get("metadata").is_some_and(|metadata| metadata.get(name).is_none()) {
                object.set(&format!("metadata.{name}"), Value::text(value));
            }
        }
        // Read twice, as for `settled` objects.
        let settled = match read(self.schema, &object).and_then(|object| read(self.schema, &object)) {
            Ok(settled) => settled,
            Err(error) => return (object, Some(error.to_string())),
        };
        let why = match (self.is_complete(&settled), invalid(self.schema, &settled, "")) {
            (true, _) => None,
            (false, Some(problem)) => Some(problem.to_string()),
            (false, None) => Some("the metadata differs from that of the API server".to_owned()),
        };
        (settled, why)
    }

    /// Returns whether the API server would return this as a complete object: valid, with defaults.
    #[must_use]
    pub fn is_complete(&self, object: &Value) -> bool {
        let mut filled = object.clone();
        fill(self.schema, &mut filled);
        has_head(object)
            && filled == *object
            && invalid(self.schema, object, "").is_none()
            && decode(&mut filled).is_ok()
    }

    /// Returns whether the object is valid apart from missing fields that make it incomplete.
    #[must_use]
    pub fn is_sparse(&self, object: &Value) -> bool {
        object.get("metadata").is_none_or(Value::is_object)
            && invalid(&self.relaxed, object, "").is_none()
            && !self.has_required(object)
            && decode(&mut object.clone()).is_ok()
    }

    /// Returns whether an object has the fields that the version requires at the top and in spec, or a uid if there are
    /// none.
    fn has_required(&self, object: &Value) -> bool {
        let has = |holder: &Value, schema: &Schema, name: &str| {
            let nullable = property(schema, name).is_some_and(|field| flag(field, "nullable"));
            holder.get(name).is_some_and(|value| nullable || *value != Value::Null)
        };
        let top = required(self.schema).filter(|name| !matches!(*name, "apiVersion" | "kind" | "metadata"));
        let top: Vec<&str> = top.collect();
        let named = object.get("metadata").is_some_and(|metadata| metadata.get("uid").is_some());
        let is_decisive = named || !top.is_empty();
        top.iter().all(|name| has(object, self.schema, name))
            && match (object.get("spec"), self.schema.pointer("/properties/spec")) {
                (Some(spec), Some(schema)) => required(schema).all(|name| has(spec, schema, name)),
                _ => is_decisive,
            }
    }
}

/// The fields that the schemas of a CRD cover.
pub(super) const CONTENTS: [&str; 2] = ["spec", "status"];

/// Returns whether a place is covered by the schemas of a CRD.
pub(super) fn is_contents(way: &[Segment]) -> bool {
    matches!(way.first(), Some(Segment::Name(name)) if CONTENTS.contains(&name.as_str()))
}

/// Returns whether a place is the object itself, its version or its kind, which are needed to identify it.
fn is_head(way: &[Segment]) -> bool {
    match way.first() {
        None => true,
        Some(Segment::Name(name)) => name == "apiVersion" || name == "kind",
        Some(Segment::Index(_)) => false,
    }
}

fn has_head(object: &Value) -> bool {
    let named = |name| object.get("metadata").is_some_and(|all| all.get(name).is_some());
    let strings = |name| match object.get("metadata").and_then(|all| all.get(name)) {
        None => true,
        Some(Value::Object(all)) => all.values().all(|value| value.as_str().is_some()),
        Some(_) => false,
    };
    ["name", "namespace", "uid"].into_iter().all(named)
        && ["labels", "annotations"].into_iter().all(strings)
        && ["kind", "apiVersion"].iter().all(|name| object.get(name).and_then(Value::as_str).is_some())
}

/// Puts arbitrary values in arbitrary places.
fn spoil(random: &mut Random, object: &mut Value) {
    for _ in 0..1 + random.below(5) {
        let ways = object.ways();
        let Some(way) = random.pick(&ways).filter(|way| !is_head(way)) else { continue };
        if let Some(place) = object.at_mut(way) {
            *place = anything(random, 3);
        }
    }
}
