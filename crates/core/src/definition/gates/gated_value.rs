//! An object in the newest version, as the API server returns it.

use serde_json::Value;

use super::gate::{Gate, Gated};
use crate::definition::path::Path;
use crate::json::Json;

/// An object in the newest version.
struct GatedValue<'v>(&'v Value);

impl Gated for GatedValue<'_> {
    fn value(&mut self, field: &Path) -> Option<Json<'static>> {
        let found = field.names().iter().try_fold(self.0, |value, name| value.get(name.as_ref()));
        found.filter(|value| !value.is_null()).map(|value| Json::owned(value.to_string()))
    }

    fn generation(&self) -> Option<i64> {
        self.0.pointer("/metadata/generation")?.as_i64()
    }
}

/// Describes the unmet condition of an object that the API server returned.
pub fn unmet_of(gate: &Gate, object: &Value) -> Option<String> {
    gate.unmet(&mut GatedValue(object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> Path {
        Path::parse(text).unwrap()
    }

    fn jsons(values: &[Value]) -> Vec<Json<'static>> {
        values.iter().map(|value| Json::owned(value.to_string())).collect()
    }

    fn object() -> Value {
        json!({
            "metadata": {"generation": 3},
            "status": {
                "observedGeneration": 2, "phase": "Ready", "nodes": 3, "version": "v1.18.2", "gone": null,
                "conditions": [{"type": "Ready", "status": "False"}],
            },
        })
    }

    #[test]
    fn unmet_condition_is_reported() {
        let is = |field: &str, values: &[Value]| Gate::Among { field: path(field), values: jsons(values) };
        let is_not = |field: &str, values: &[Value]| Gate::NotAmong { field: path(field), values: jsons(values) };
        let least =
            |field: &str, least: Value| Gate::AtLeast { field: path(field), least: Json::owned(least.to_string()) };
        let present = |field: &str, present| Gate::Present { field: path(field), present };
        let condition = |name: &str, is: &str| Gate::Condition {
            list: path("status.conditions"),
            name: name.to_owned(),
            is: is.to_owned(),
        };
        let observed = || Gate::Observed { field: path("status.observedGeneration") };
        let cases = [
            (is("status.phase", &[json!("Ready")]), None),
            (is("status.phase", &[json!("Done")]), Some("status.phase is \"Ready\", and must be \"Done\"")),
            (is("status.no", &[json!(1), json!(2)]), Some("status.no is not set, and must be one of 1, 2")),
            (is_not("status.phase", &[json!("Done")]), None),
            (is_not("status.no", &[json!("Done")]), None),
            (
                is_not("status.phase", &[json!("Ready"), json!("Done")]),
                Some("status.phase is \"Ready\", and must be none of \"Ready\", \"Done\""),
            ),
            (least("status.nodes", json!(3)), None),
            (least("status.nodes", json!(4)), Some("status.nodes is 3, and must be at least 4")),
            (least("status.version", json!("1.18")), None),
            (
                least("status.version", json!("1.19")),
                Some("status.version is \"v1.18.2\", and must be at least \"1.19\""),
            ),
            (least("status.phase", json!("1.19")), Some("status.phase is \"Ready\", and must be at least \"1.19\"")),
            (present("status.gone", true), Some("status.gone is not set, and must be")),
            (present("status.phase", false), Some("status.phase is set, and must not be")),
            (observed(), Some("status.observedGeneration is 2, and metadata.generation is 3")),
            (condition("Ready", "False"), None),
            (condition("Ready", "True"), Some("condition Ready is False, and must be True")),
            (condition("Live", "True"), Some("condition Live is missing, and must be True")),
            (Gate::None(vec![condition("Ready", "False")]), Some("condition Ready is False, and must not be so")),
            (Gate::None(vec![condition("Ready", "True")]), None),
            (Gate::Any(vec![observed(), is("status.phase", &[json!("Ready")])]), None),
            (
                Gate::Any(vec![present("status.gone", true), present("status.phase", false)]),
                Some("status.gone is not set, and must be, and status.phase is set, and must not be"),
            ),
            (Gate::All(vec![is("status.phase", &[json!("Ready")]), condition("Ready", "False")]), None),
        ];
        for (gate, expected) in cases {
            assert_eq!(gate.unmet(&mut GatedValue(&object())).as_deref(), expected, "{gate:?}");
        }
    }

    /// Unknown values open no gate.
    #[test]
    fn absent_generation_is_unobserved() {
        let gate = Gate::Observed { field: path("status.observedGeneration") };
        for (object, expected) in [
            (
                json!({"metadata": {"generation": 1}}),
                Some("status.observedGeneration is not set, and metadata.generation is 1"),
            ),
            (
                json!({"metadata": {}, "status": {"observedGeneration": 1}}),
                Some("metadata.generation is not set, so the observed generation cannot be compared"),
            ),
            (json!({"metadata": {"generation": 1}, "status": {"observedGeneration": 1}}), None),
        ] {
            assert_eq!(gate.unmet(&mut GatedValue(&object)).as_deref(), expected, "{object}");
        }
    }
}
