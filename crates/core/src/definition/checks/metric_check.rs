//! A number of Prometheus that has to be within bounds.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::check_name::bad_name;
use super::metric_query::MetricQuery;

/// A number of Prometheus that has to be within bounds.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "MetricCheck")]
pub(super) struct MetricCheckSpec {
    /// What messages call it.
    name: String,
    /// What Prometheus is asked, and what it has to answer.
    prometheus: BoundedQuery,
}

/// A query and its bounds, of which there has to be one at least.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BoundedQuery {
    /// In PromQL; what comes of it has to be one number. In its texts in single or double quotes, `{from}` and `{to}`
    /// stand for the versions of the rollout.
    query: String,
    /// The number is no smaller.
    #[serde(default, deserialize_with = "number")]
    at_least: Option<f64>,
    /// The number is no larger.
    #[serde(default, deserialize_with = "number")]
    at_most: Option<f64>,
}

/// A key without a value is a slip, and must not count as no bound at all.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    f64::deserialize(deserializer).map(Some)
}

/// The same, checked.
#[derive(Clone, Debug)]
pub(crate) struct MetricCheck {
    pub(crate) name: String,
    pub(crate) query: MetricQuery,
    at_least: Option<f64>,
    at_most: Option<f64>,
}

impl MetricCheckSpec {
    pub(super) fn compile(&self) -> Result<MetricCheck, Vec<String>> {
        let Self { name, prometheus: BoundedQuery { query, at_least, at_most } } = self;
        let mut bad: Vec<String> = bad_name(name).into_iter().collect();
        let mut said = |why: String| bad.push(format!("{name}: prometheus: {why}"));
        if query.trim().is_empty() {
            said("the query is empty".to_owned());
        }
        match (at_least, at_most) {
            (None, None) => said("it needs `atLeast`, `atMost` or both: without them this could never fail".to_owned()),
            (Some(least), Some(most)) if least > most => {
                said(format!("atLeast {least} is more than atMost {most}, so that this could never hold"));
            }
            _ => {}
        }
        let query = MetricQuery::parse(query).map_err(|why| said(format!("query: {why}"))).ok();
        match query {
            Some(query) if bad.is_empty() => {
                Ok(MetricCheck { name: name.clone(), query, at_least: *at_least, at_most: *at_most })
            }
            _ => Err(bad),
        }
    }
}

impl MetricCheck {
    /// What is wrong with a number, in words.
    pub(crate) fn unmet(&self, number: f64) -> Option<String> {
        let (least, most) = (self.at_least.filter(|least| number < *least), self.at_most.filter(|most| number > *most));
        let bound = least.map(|least| ("least", least)).or_else(|| most.map(|most| ("most", most)));
        bound.map(|(word, bound)| format!("is {}, and must be at {word} {bound}", short(number)))
    }
}

/// A number as people write it; one that would take a line, with its exponent.
fn short(number: f64) -> String {
    match number.abs() {
        size if size == 0.0 || (1e-6..1e15).contains(&size) => number.to_string(),
        _ => format!("{number:e}"),
    }
}
