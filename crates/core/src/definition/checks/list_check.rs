//! Objects of any kind that have to be as they should be.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::check_name::bad_name;
use crate::apimachinery::{ResourceName, Selector, is_dns_label};
use crate::definition::gates::{Gate, GateSpec, GatedValue, foreign_gate};

/// Objects of any kind, each of which has to be so.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ListCheck")]
pub(super) struct ListCheckSpec {
    /// What messages call it.
    name: String,
    /// Plural and group of the objects, such as `helmreleases.helm.toolkit.fluxcd.io`.
    list: String,
    /// Only those of this namespace.
    namespace: Option<String>,
    /// Only those with such labels, as `kubectl -l` takes them.
    #[serde(rename = "where")]
    labels: Option<String>,
    /// What has to hold of every one of them. Fields are named as the API server answers them.
    every: GateSpec,
}

/// The same, checked.
#[derive(Clone, Debug)]
pub(crate) struct ListCheck {
    pub(crate) name: String,
    pub(crate) resource: ResourceName,
    pub(crate) namespace: Option<String>,
    pub(crate) labels: Selector,
    gate: Gate,
}

impl ListCheckSpec {
    pub(super) fn compile(&self) -> Result<ListCheck, Vec<String>> {
        let Self { name, list, namespace, labels, every } = self;
        let mut bad: Vec<String> = bad_name(name).into_iter().collect();
        if let Some(namespace) = namespace.as_ref().filter(|name| !is_dns_label(name)) {
            bad.push(format!("{name}: {namespace:?} is no name of a namespace"));
        }
        let mut said = |error: String| bad.push(format!("{name}: {error}"));
        let resource = ResourceName::parse(list).map_err(&mut said).ok();
        let labels = Selector::parse(labels.as_deref().unwrap_or_default()).map_err(&mut said).ok();
        let gate = foreign_gate(every, |error| said(format!("every: {error}")));
        match (resource, labels, gate) {
            (Some(resource), Some(labels), Some(gate)) if bad.is_empty() => {
                Ok(ListCheck { name: name.clone(), resource, namespace: namespace.clone(), labels, gate })
            }
            _ => Err(bad),
        }
    }
}

impl ListCheck {
    /// What does not hold of an object, in words.
    pub(crate) fn unmet(&self, object: &Value) -> Option<String> {
        self.gate.unmet(&mut GatedValue(object))
    }
}
