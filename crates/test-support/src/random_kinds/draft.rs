//! A CRD with a definition, before any check.

use serde_json::{Value as Schema, json};

use super::defaults::object_with_default;
use super::draft_step::Manner;
use super::schemas::{bound_counts, version};
use super::steps::between;
use pointsman_core::definition::{API_VERSION, BadDefinition, KIND, Kind};
use pointsman_core::laws::Random;

/// A CRD and a definition of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The `CustomResourceDefinition`.
    pub crd: Schema,
    /// The `KindDefinition`.
    pub definition: Schema,
}

/// The file name in a draft's definition.
const CRD: &str = "things.crd.yaml";

/// The versions of a draft, oldest first. A draft has two to four.
const VERSIONS: [&str; 4] = ["v1alpha1", "v1beta1", "v1", "v2"];

impl Draft {
    /// A random draft, deterministic for a seed.
    #[must_use]
    pub fn random(seed: u64, manner: Manner) -> Self {
        let mut random = Random::new(seed ^ 0x00D4_AF71);
        let count = [2, 2, 2, 3, 3, 3, 4].get(random.below(7)).copied().unwrap_or(2);
        let mut schemas = vec![version(&mut random)];
        if manner == Manner::Hostile {
            let tops = schemas.iter_mut().filter_map(|schema| schema.get_mut("properties")?.as_object_mut());
            for (_, top) in tops.flatten().filter(|(name, _)| matches!(name.as_str(), "spec" | "status")) {
                bound_counts(&mut random, top);
            }
        }
        let mut steps = Vec::new();
        for (from, to) in VERSIONS.iter().zip(VERSIONS.iter().skip(1)).take(count - 1) {
            let Some(older) = schemas.last() else { break };
            let step = between(&mut random, older, manner);
            steps.push(json!({
                "from": from, "to": to, "operations": step.operations, "accept": step.accept,
            }));
            schemas.push(step.newer);
        }
        // A version with an empty spec may lack the spec.
        if random.percent(60) {
            without_empty_specs(&mut schemas, &mut steps);
        }
        if random.percent(25) {
            object_with_default(&mut random, &mut schemas, &mut steps);
        }
        let storage = random.below(count);
        let versions: Vec<Schema> = schemas
            .into_iter()
            .zip(VERSIONS)
            .enumerate()
            .map(|(index, (schema, name))| {
                json!({
                    "name": name, "served": true, "storage": index == storage,
                    "schema": {"openAPIV3Schema": schema},
                })
            })
            .collect();
        Self {
            crd: json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "things.example.com"},
                "spec": {
                    "group": "example.com",
                    "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
                    "scope": "Namespaced",
                    "versions": versions,
                },
            }),
            definition: json!({
                "apiVersion": API_VERSION, "kind": KIND, "crd": CRD, "steps": steps,
            }),
        }
    }

    /// Checks the draft like `kinds check`.
    ///
    /// # Errors
    /// All problems of the definition.
    pub fn load(&self) -> Result<Kind, BadDefinition> {
        let crd = self.crd.to_string();
        Kind::load("things.yaml", &self.definition.to_string(), &mut |_| Ok(crd.clone()))
    }
}

/// Removes empty specs from versions, and adds operations for that to the steps.
fn without_empty_specs(schemas: &mut [Schema], steps: &mut [Schema]) {
    let is_empty = |schema: &Schema| schema.pointer("/properties/spec/properties").is_some_and(|all| *all == json!({}));
    let lacks: Vec<bool> = schemas.iter().map(is_empty).collect();
    for (schema, _) in schemas.iter_mut().zip(&lacks).filter(|(_, lacks)| **lacks) {
        if let Some(properties) = schema.get_mut("properties").and_then(Schema::as_object_mut) {
            properties.remove("spec");
        }
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("required");
        }
    }
    let pairs = lacks.iter().zip(lacks.iter().skip(1));
    for (step, (older, newer)) in steps.iter_mut().zip(pairs) {
        // If a value is moved into the spec of the other version, no operation is needed.
        let text = step.get("operations").map(Schema::to_string).unwrap_or_default();
        let operation = match (older, newer) {
            (false, true) => "drop",
            (true, false) => "add",
            _ => continue,
        };
        if !text.contains("\"spec.")
            && let Some(operations) = step.get_mut("operations").and_then(Schema::as_array_mut)
        {
            operations.push(json!({operation: "spec"}));
        }
    }
}
