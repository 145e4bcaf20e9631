//! Checks of objects of any kind.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::check_name::bad_name;
use crate::definition::rollout_versions::{RolloutVersions, with_any_versions};
use pointsman_core::apimachinery::{ResourceName, Selector, excerpt, is_dns_label, is_label_value};
use pointsman_core::definition::version_words::{names_version, unknown_word, words};
use pointsman_core::definition::{Gate, GateSpec, foreign_gate, unmet_of};

/// Objects of any kind that must all meet a condition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ListCheck")]
pub(super) struct ListCheckSpec {
    /// The name in messages.
    name: String,
    /// Plural and group of the objects, such as `helmreleases.helm.toolkit.fluxcd.io`.
    list: String,
    /// Only objects in this namespace.
    namespace: Option<String>,
    /// Only objects with these labels, in the syntax of `kubectl -l`. In values, `{from}` and `{to}` stand for the
    /// versions of the rollout.
    #[serde(rename = "where")]
    labels: Option<String>,
    /// The condition for each object. Fields are as returned by the API server. In values, `{from}` and `{to}`
    /// stand for the versions of the rollout.
    every: GateSpec,
}

/// The compiled check.
#[derive(Clone, Debug)]
pub(crate) struct ListCheck {
    /// The name of the check, used in messages.
    pub(crate) name: String,
    /// The resource of the listed objects.
    pub(crate) resource: ResourceName,
    /// The name of the check, used in messages.
    pub(crate) namespace: Option<String>,
    /// The labels of the listed objects.
    pub(crate) labels: Selector,
    gate: Gate,
}

impl ListCheckSpec {
    pub(super) fn compile(&self) -> Result<ListCheck, Vec<String>> {
        let Self { name, list, namespace, labels, every } = self;
        let mut bad: Vec<String> = bad_name(name).into_iter().collect();
        if let Some(namespace) = namespace.as_ref().filter(|name| !is_dns_label(name)) {
            bad.push(format!("{name}: {namespace:?} is no name of a namespace{}", hint(namespace)));
        }
        let mut report = |error: String| bad.push(format!("{name}: {error}"));
        let resource = ResourceName::parse(list).map_err(|error| report(format!("{error}{}", hint(list)))).ok();
        let labels = labels.as_deref().unwrap_or_default();
        if let Some(why) = unknown_word(labels) {
            report(format!("where: {why}"));
        }
        let labels =
            Selector::parse_as(labels, &|value| is_label_value(&with_any_versions(value))).map_err(&mut report).ok();
        let gate = foreign_gate(every, |error| report(format!("every: {error}")));
        match (resource, labels, gate) {
            (Some(resource), Some(labels), Some(gate)) if bad.is_empty() => {
                Ok(ListCheck { name: name.clone(), resource, namespace: namespace.clone(), labels, gate })
            }
            _ => Err(bad),
        }
    }
}

impl ListCheck {
    /// The check for a rollout.
    pub(crate) fn filled(&self, versions: RolloutVersions<'_>) -> Self {
        let fill = |text: &str| versions.filled(text);
        Self { labels: self.labels.with_values(&fill), gate: self.gate.filled(&fill), ..self.clone() }
    }

    /// Returns why the check is invalid for a rollout.
    pub(super) fn unfit(&self, versions: RolloutVersions<'_>) -> Option<String> {
        let filled = self.filled(versions).labels;
        let bad = filled.values().find(|value| !is_label_value(value))?;
        Some(format!("{}: where: {:?} can be no value of a label", self.name, excerpt(bad)))
    }

    /// Returns whether the check contains a placeholder.
    pub(super) fn mentions(&self, word: &str) -> bool {
        let mut texts = self.labels.values().map(str::to_owned).chain(self.gate.texts());
        texts.any(|text| words(&text).any(|it| it == word))
    }

    /// Describes the condition that an object does not meet.
    pub(crate) fn unmet(&self, object: &Value) -> Option<String> {
        unmet_of(&self.gate, object)
    }
}

/// A hint for a placeholder in the wrong place.
fn hint(text: &str) -> &'static str {
    if names_version(text) {
        ": variables of the rollout are allowed only in values of `where` and `every`"
    } else {
        ""
    }
}
