//! Checks with a name: objects of any kind, a Prometheus metric, or an HTTP probe.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::http::check::{HttpCheck, HttpCheckSpec};
use super::list_check::{ListCheck, ListCheckSpec};
use super::metric_check::{MetricCheck, MetricCheckSpec};
use crate::definition::rollout_versions::RolloutVersions;
use pointsman_core::apimachinery::did_you_mean;
use pointsman_core::definition::version_words::{FROM, TO};
use pointsman_core::definition::yaml::explain_json;

/// A check with a name.
#[derive(Clone, Debug)]
pub(crate) enum NamedCheck {
    /// An HTTP server responds with success.
    Http(HttpCheck),
    /// Objects of any kind meet a condition.
    List(Box<ListCheck>),
    /// A Prometheus metric is within bounds.
    Metric(MetricCheck),
}

/// The schema of a named check. The members determine its kind.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "NamedCheck")]
#[expect(dead_code, reason = "only for the JSON Schema; a custom parser gives better error messages")]
pub(super) enum NamedCheckForm {
    List(Box<ListCheckSpec>),
    Metric(MetricCheckSpec),
    Http(HttpCheckSpec),
}

impl NamedCheck {
    /// The name in messages.
    fn name(&self) -> &str {
        match self {
            Self::Http(page) => &page.name,
            Self::List(list) => &list.name,
            Self::Metric(metric) => &metric.name,
        }
    }

    /// Returns whether the check depends on the versions of a rollout.
    pub(crate) fn is_of_versions(&self) -> bool {
        self.mentions(FROM) || self.mentions(TO)
    }

    /// Returns why the check is invalid for a rollout.
    pub(crate) fn unfit(&self, versions: RolloutVersions<'_>) -> Option<String> {
        if versions.from.is_none() && self.mentions(FROM) {
            return Some(format!(
                "{} contains {{from}}, and the StagedRollout has no `from`: add the version of its objects",
                self.name()
            ));
        }
        match self {
            Self::List(list) => list.unfit(versions),
            Self::Http(_) | Self::Metric(_) => None,
        }
    }

    fn mentions(&self, word: &str) -> bool {
        match self {
            Self::Http(page) => page.address.mentions(word),
            Self::List(list) => list.mentions(word),
            Self::Metric(metric) => metric.query.mentions(word),
        }
    }

    /// Parses a check, and returns its name as well.
    pub(super) fn read(value: &Value) -> (String, Result<Self, Vec<String>>) {
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let keys = || value.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        if let Some(key) = keys().find(|key| !KEYS.contains(key)) {
            let meant = did_you_mean(key, KEYS);
            return (name, Err(vec![format!("unknown key {key:?}{meant}")]));
        }
        let subjects: Vec<&str> = keys().filter(|key| SUBJECTS.contains(key)).collect();
        let check = match subjects.as_slice() {
            ["http"] => form::<HttpCheckSpec>(value).and_then(|spec| spec.compile()).map(Self::Http),
            ["prometheus"] => form::<MetricCheckSpec>(value).and_then(|spec| spec.compile()).map(Self::Metric),
            ["list"] => {
                form::<ListCheckSpec>(value).and_then(|spec| spec.compile()).map(|list| Self::List(list.into()))
            }
            [] => Err(vec![format!("has no check: add one of {}", SUBJECTS.join(", "))]),
            more => Err(vec![format!("{name}: {} are two checks: give each its own name", more.join(" and "))]),
        };
        (name, check)
    }
}

fn form<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<String>> {
    serde_json::from_value(value.clone()).map_err(|error| vec![explain_json(&error)])
}

/// The keys that determine the kind of a check. A check has exactly one.
const SUBJECTS: [&str; 3] = ["list", "prometheus", "http"];
const KEYS: [&str; 7] = ["name", "list", "namespace", "where", "every", "prometheus", "http"];
