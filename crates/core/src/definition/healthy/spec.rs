//! The `healthy` block of a definition, as it is written and as it is checked.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::gate::Gate;
use super::health::Health;
use crate::apimachinery::parse_duration;
use crate::definition::path::Path;
use crate::definition::problems::{Problems, line};
use crate::definition::schema::Schema;
use crate::{json::Json, upgrade};

/// What a healthy object looks like: what has to hold after a roll has moved it before the next one goes. At least one
/// of `all`, `any` and `none`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Healthy")]
pub(crate) struct HealthySpec {
    /// Every one of these holds.
    #[serde(default)]
    all: Vec<GateSpec>,
    /// At least one of these holds.
    #[serde(default)]
    any: Vec<GateSpec>,
    /// None of these holds.
    #[serde(default)]
    none: Vec<GateSpec>,
    /// How long it has to hold without a break, such as `60s`, which is the default. Below that only where `seen` tells
    /// that the new controller has looked.
    settle: Option<String>,
    /// By what it is seen that the new controller has looked at an object after it was moved.
    seen: Option<SeenSpec>,
}

/// By what it is seen that a controller has looked at an object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Seen")]
pub(super) struct SeenSpec {
    /// The field manager of the controller, as `metadata.managedFields` names it: an entry of it must be newer than the
    /// move.
    manager: String,
}

/// One of `condition`, `generation`, `field`, `all`, `any` and `none`. Fields are named as the newest version spells
/// them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Gate")]
pub(super) struct GateSpec {
    /// A condition of the status, by its type, such as `Ready`. One that is not there does not hold.
    condition: Option<String>,
    /// The status that the condition must have, `True` if this is not set; or the value of the field.
    is: Option<Value>,
    /// The list of conditions. Defaults to `status.conditions`.
    within: Option<String>,
    /// The field that says which generation the controller has seen, such as `status.observedGeneration`: it must have
    /// seen the last change of the spec.
    generation: Option<String>,
    /// A field of which one of `is`, `in`, `atLeast` and `present` must hold.
    field: Option<String>,
    /// The field must have one of these values.
    #[serde(rename = "in")]
    among: Option<Vec<Value>>,
    /// The field must be a number that is no smaller, or a version that is no older.
    at_least: Option<Value>,
    /// The field must be there, or must not.
    present: Option<bool>,
    /// Every one of these holds.
    all: Option<Vec<Self>>,
    /// At least one of these holds.
    any: Option<Vec<Self>>,
    /// None of these holds.
    none: Option<Vec<Self>>,
}

impl HealthySpec {
    pub(in crate::definition) fn compile(
        spec: &Spanned<Self>,
        schema: &Schema,
        problems: &mut Problems,
    ) -> Option<Health> {
        let (at_line, spec) = (line(spec), &spec.value);
        let mut compiler = GateCompiler { schema, bad: Vec::new() };
        let health = compiler.health(spec);
        let is_good = compiler.bad.is_empty();
        for message in compiler.bad {
            problems.add(at_line, format!("healthy: {message}"));
        }
        Some(health).filter(|_| is_good)
    }
}

impl GateSpec {
    /// The names of the members that are set.
    fn said(&self) -> Vec<&'static str> {
        let members = [
            ("condition", self.condition.is_some()),
            ("is", self.is.is_some()),
            ("within", self.within.is_some()),
            ("generation", self.generation.is_some()),
            ("field", self.field.is_some()),
            ("in", self.among.is_some()),
            ("atLeast", self.at_least.is_some()),
            ("present", self.present.is_some()),
            ("all", self.all.is_some()),
            ("any", self.any.is_some()),
            ("none", self.none.is_some()),
        ];
        members.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
    }
}

/// Compiles gates against the schema of the newest version.
struct GateCompiler<'a> {
    schema: &'a Schema,
    bad: Vec<String>,
}

impl<'a> GateCompiler<'a> {
    fn health(&mut self, spec: &HealthySpec) -> Health {
        let HealthySpec { all, any, none, settle, seen } = spec;
        let mut gates = self.gates(all);
        if !any.is_empty() {
            gates.push(Gate::Any(self.gates(any)));
        }
        if !none.is_empty() {
            gates.push(Gate::None(self.gates(none)));
        }
        if all.is_empty() && any.is_empty() && none.is_empty() {
            self.bad.push("says nothing: give it gates under `all`, `any` or `none`".to_owned());
        }
        let settle = self.settle(settle.as_deref(), seen.is_some());
        if seen.as_ref().is_some_and(|seen| seen.manager.is_empty()) {
            self.bad.push("seen.manager: a field manager has a name".to_owned());
        }
        Health { gate: Gate::All(gates), settle, seen: seen.as_ref().map(|seen| seen.manager.clone()) }
    }

    fn settle(&mut self, text: Option<&str>, is_seen: bool) -> Duration {
        let Some(text) = text else { return SETTLE };
        let Ok(settle) = parse_duration(text) else {
            self.bad.push(format!("settle: {text:?} is not a duration: use forms such as 60s, 5m"));
            return SETTLE;
        };
        if settle < SETTLE && !is_seen {
            self.bad.push(format!(
                "settle: {text} is too short to tell the health of the old controller from that of the new one: give it at \
                 least {}s, or say under `seen` by what the new controller is known",
                SETTLE.as_secs()
            ));
        }
        settle
    }

    fn gates(&mut self, specs: &[GateSpec]) -> Vec<Gate> {
        specs.iter().filter_map(|spec| self.gate(spec)).collect()
    }

    fn gate(&mut self, spec: &GateSpec) -> Option<Gate> {
        let said = spec.said();
        let only = |allowed: &[&str]| said.iter().all(|name| allowed.contains(name));
        match spec {
            GateSpec { condition: Some(name), .. } if only(&["condition", "is", "within"]) => {
                self.condition(name, spec)
            }
            GateSpec { generation: Some(field), .. } if only(&["generation"]) => {
                let (field, schema) = self.field(field)?;
                self.is_of_type(&field, schema, "integer");
                Some(Gate::Observed { field })
            }
            GateSpec { field: Some(field), .. } if only(&["field", "is", "in", "atLeast", "present"]) => {
                self.of_field(field, spec)
            }
            GateSpec { all: Some(gates), .. } if only(&["all"]) => Some(Gate::All(self.some(gates, "all"))),
            GateSpec { any: Some(gates), .. } if only(&["any"]) => Some(Gate::Any(self.some(gates, "any"))),
            GateSpec { none: Some(gates), .. } if only(&["none"]) => Some(Gate::None(self.some(gates, "none"))),
            _ => {
                self.bad.push(FORMS.to_owned());
                None
            }
        }
    }

    fn condition(&mut self, name: &str, spec: &GateSpec) -> Option<Gate> {
        let (list, schema) = self.field(spec.within.as_deref().unwrap_or("status.conditions"))?;
        self.is_of_type(&list, schema, "array");
        let is = match &spec.is {
            None => "True",
            Some(Value::String(is)) => is,
            Some(other) => {
                self.bad.push(format!(
                    "condition {name}: the status of a condition is a text, \"True\", \"False\" or \"Unknown\", not {other}"
                ));
                return None;
            }
        };
        Some(Gate::Condition { list, name: name.to_owned(), is: is.to_owned() })
    }

    fn some(&mut self, specs: &[GateSpec], what: &str) -> Vec<Gate> {
        if specs.is_empty() {
            self.bad.push(format!("{what}: has no gates in it"));
        }
        self.gates(specs)
    }

    fn of_field(&mut self, field: &str, spec: &GateSpec) -> Option<Gate> {
        let (field, schema) = self.field(field)?;
        let (values, gate) = match spec {
            GateSpec { is: Some(value), among: None, at_least: None, present: None, .. } => {
                let values = vec![value.clone()];
                (values.clone(), Gate::Among { field: field.clone(), values })
            }
            GateSpec { is: None, among: Some(values), at_least: None, present: None, .. } => {
                if values.is_empty() {
                    self.bad.push(format!("{field} can be none of no values"));
                }
                (values.clone(), Gate::Among { field: field.clone(), values: values.clone() })
            }
            GateSpec { is: None, among: None, at_least: Some(least), present: None, .. } => {
                if !least.is_number() && least.as_str().and_then(upgrade::version).is_none() {
                    self.bad.push(format!("{field}: atLeast is a number or a version, not {least}"));
                }
                (vec![least.clone()], Gate::AtLeast { field: field.clone(), least: least.clone() })
            }
            GateSpec { is: None, among: None, at_least: None, present: Some(present), .. } => {
                (Vec::new(), Gate::Present { field: field.clone(), present: *present })
            }
            _ => {
                self.bad.push(format!("{field} needs one of `is`, `in`, `atLeast` and `present`"));
                return None;
            }
        };
        for value in values.iter().filter(|value| !schema.admits(&Json::owned(value.to_string()))) {
            self.bad.push(format!("{field} can never be {value}"));
        }
        Some(gate)
    }

    fn is_of_type(&mut self, field: &Path, schema: &Schema, wanted: &str) {
        if let Some(kind) = schema.kind.as_deref().filter(|kind| *kind != wanted) {
            self.bad.push(format!("{field} is of type {kind}, not {wanted}"));
        }
    }

    /// A field that must be in the schema.
    fn field(&mut self, text: &str) -> Option<(Path, &'a Schema)> {
        let problem = match Path::parse(text) {
            Ok(path) => match self.schema.find(&path) {
                Ok(schema) => return Some((path, schema)),
                Err(missing) => {
                    let (name, hint) = (missing.name, missing.did_you_mean());
                    format!("{path}: the newest version has no {name:?} there{hint}")
                }
            },
            Err(error) => error,
        };
        self.bad.push(problem);
        None
    }
}

/// What a gate may look like.
const FORMS: &str = "a gate is one of {condition: NAME, is: STATUS}, {generation: FIELD}, {field: FIELD, is: VALUE}, {field: \
                     FIELD, in: VALUES}, {field: FIELD, atLeast: VALUE}, {field: FIELD, present: true} and all, any or none \
                     of such ones";

/// A controller that has just lost an object still says how it was; most say something new within a minute.
const SETTLE: Duration = Duration::from_secs(60);
