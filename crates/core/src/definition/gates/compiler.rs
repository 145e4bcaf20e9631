//! Compiles gates against the schema of the newest version. Rejects a field that does not exist, and a value that the
//! field can never have.

use serde_json::Value;

use super::gate::Gate;
use super::spec::GateSpec;
use crate::definition::path::Path;
use crate::definition::schema::Schema;
use crate::definition::version_words::{names_version, unknown_word};
use crate::{definition::upgrade, json::Json};

/// Compiles a gate for objects of any kind without a schema. Absent fields fail the gate. Values may contain
/// placeholders for versions of a rollout. Passes problems to `report`.
pub fn foreign_gate(spec: &GateSpec, report: impl FnMut(String)) -> Option<Gate> {
    let anything = Schema::default();
    let mut compiler = GateCompiler { is_foreign: true, ..GateCompiler::templated(&anything) };
    let gate = compiler.gate(spec);
    compiler.into_bad().into_iter().for_each(report);
    gate
}

/// Compiles gates one by one.
pub struct GateCompiler<'a> {
    schema: &'a Schema,
    /// The objects are of another kind, whose schema is unknown.
    is_foreign: bool,
    /// Values may contain `{from}` and `{to}`, which a rollout replaces.
    is_templated: bool,
    bad: Vec<String>,
}

impl<'a> GateCompiler<'a> {
    /// A compiler for gates on objects with this schema.
    pub fn new(schema: &'a Schema) -> Self {
        Self { schema, is_foreign: false, is_templated: false, bad: Vec::new() }
    }

    /// A compiler for gates of a rollout: values may contain its versions.
    pub fn templated(schema: &'a Schema) -> Self {
        Self { is_templated: true, ..Self::new(schema) }
    }

    /// The problems of the gates that were compiled.
    pub fn into_bad(self) -> Vec<String> {
        self.bad
    }

    /// Compiles gates, without those that have a problem.
    pub fn gates(&mut self, specs: &[GateSpec]) -> Vec<Gate> {
        specs.iter().filter_map(|spec| self.gate(spec)).collect()
    }

    /// Compiles a gate. `None` if it has a problem.
    pub fn gate(&mut self, spec: &GateSpec) -> Option<Gate> {
        let set_keys = spec.set_keys();
        let only = |allowed: &[&str]| set_keys.iter().all(|name| allowed.contains(name));
        match spec {
            GateSpec { condition: Some(name), .. } if only(&["condition", "is", "within"]) => {
                self.condition(name, spec)
            }
            GateSpec { generation: Some(field), .. } if only(&["generation"]) => {
                let (field, schema) = self.field(field)?;
                self.is_of_type(&field, schema, "integer");
                Some(Gate::Observed { field })
            }
            GateSpec { field: Some(field), .. } if only(&["field", "is", "in", "notIn", "atLeast", "present"]) => {
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
        self.holds_no_version(name);
        let (list, schema) = self.field(spec.within.as_deref().unwrap_or("status.conditions"))?;
        self.is_of_type(&list, schema, "array");
        let is = match &spec.is {
            None => STATUSES[0],
            Some(is) => match STATUSES.iter().find(|status| is.as_str() == Some(**status)) {
                Some(status) => status,
                None => {
                    self.bad.push(format!(
                        "condition {name}: the status of a condition is \"True\", \"False\" or \"Unknown\", not {is}"
                    ));
                    return None;
                }
            },
        };
        Some(Gate::Condition { list, name: name.to_owned(), is: is.to_owned() })
    }

    fn some(&mut self, specs: &[GateSpec], what: &str) -> Vec<Gate> {
        if specs.is_empty() {
            self.bad.push(format!("{what}: contains no gates"));
        }
        self.gates(specs)
    }

    fn of_field(&mut self, field: &str, spec: &GateSpec) -> Option<Gate> {
        let (field, schema) = self.field(field)?;
        if spec.set_keys().len() != 2 {
            self.bad.push(format!("{field} needs one of `is`, `in`, `notIn`, `atLeast` and `present`"));
            return None;
        }
        let one = |value: &Value| Json::owned(value.to_string());
        let all = |values: &[Value]| values.iter().map(one).collect::<Vec<_>>();
        let (values, gate) = match spec {
            GateSpec { is: Some(value), .. } => {
                (all(std::slice::from_ref(value)), Gate::Among { field: field.clone(), values: vec![one(value)] })
            }
            GateSpec { among: Some(values), .. } => {
                (all(values), Gate::Among { field: field.clone(), values: all(values) })
            }
            GateSpec { not_in: Some(values), .. } => {
                (all(values), Gate::NotAmong { field: field.clone(), values: all(values) })
            }
            GateSpec { at_least: Some(least), .. } => {
                let is_filled = self.is_templated && least.as_str().is_some_and(names_version);
                if !is_filled && !least.is_number() && least.as_str().and_then(upgrade::version).is_none() {
                    self.bad.push(format!("{field}: atLeast is a number or a version, not {least}"));
                }
                (vec![one(least)], Gate::AtLeast { field: field.clone(), least: one(least) })
            }
            GateSpec { present, .. } => {
                let present = present.unwrap_or_default();
                return Some(Gate::Present { field, present });
            }
        };
        if values.is_empty() {
            self.bad.push(format!("{field}: add at least one value to compare with"));
        }
        self.words_are_known(&field, &values);
        let is_filled =
            |value: &&Json<'_>| self.is_templated && value.as_str().is_some_and(|text| names_version(&text));
        for value in values.iter().filter(|value| !is_filled(value) && !schema.admits(value)) {
            self.bad.push(format!("{field} can never be {}", value.to_text()));
        }
        Some(gate)
    }

    fn is_of_type(&mut self, field: &Path, schema: &Schema, wanted: &str) {
        if let Some(kind) = schema.kind.as_deref().filter(|kind| *kind != wanted) {
            self.bad.push(format!("{field} is of type {kind}, not {wanted}"));
        }
    }

    /// Reports unknown placeholders in values.
    fn words_are_known(&mut self, field: &Path, values: &[Json<'_>]) {
        let inside = || "variables of the rollout are allowed in strings only, outside of lists and maps".to_owned();
        let wrong = |value: &Json<'_>| match value.as_str() {
            Some(text) => unknown_word(&text),
            None => names_version(&value.to_text()).then(inside),
        };
        let wrong = values.iter().filter(|_| self.is_templated).filter_map(wrong);
        self.bad.extend(wrong.map(|why| format!("{field}: {why}")));
    }

    /// Reports placeholders outside of values.
    fn holds_no_version(&mut self, name: &str) {
        if self.is_templated && names_version(name) {
            self.bad.push(format!(
                "{name}: variables of the rollout are allowed in values only, outside of names of fields and \
                     conditions"
            ));
        }
    }

    /// A field that must exist in the schema.
    fn field(&mut self, text: &str) -> Option<(Path, &'a Schema)> {
        self.holds_no_version(text);
        let problem = match Path::parse(text) {
            Ok(path) if self.is_foreign => return Some((path, self.schema)),
            Ok(path) => match self.schema.find_readable(&path) {
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

/// The forms of a gate, for messages.
const FORMS: &str = "a gate has one of these forms: {condition: NAME, is: STATUS}, {generation: FIELD}, {field: FIELD, is: VALUE}, \
     {field: FIELD, in: VALUES}, {field: FIELD, notIn: VALUES}, {field: FIELD, atLeast: VALUE}, {field: FIELD, \
     present: true}, and all, any or none with nested gates";

/// The statuses of a condition. The first is the default. Source: `apimachinery pkg/apis/meta/v1/types.go`,
/// `ConditionStatus`.
const STATUSES: [&str; 3] = ["True", "False", "Unknown"];
