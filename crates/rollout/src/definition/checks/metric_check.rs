//! Checks of a Prometheus metric.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::check_name::bad_name;
use super::metric_query::MetricQuery;

/// A Prometheus metric that must be within bounds.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "MetricCheck")]
pub(super) struct MetricCheckSpec {
    /// The name in messages.
    name: String,
    /// The query and its bounds.
    prometheus: BoundedQuery,
}

/// A query and its bounds. At least one bound is required.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BoundedQuery {
    /// A query in PromQL, whose result must be one number. In its strings in single or double quotes, `{from}` and
    /// `{to}` stand for the versions of the rollout.
    query: String,
    /// The minimum.
    #[serde(default, deserialize_with = "number")]
    at_least: Option<f64>,
    /// The maximum.
    #[serde(default, deserialize_with = "number")]
    at_most: Option<f64>,
}

/// Rejects a key without a value, which would otherwise count as no bound.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    f64::deserialize(deserializer).map(Some)
}

/// The compiled check.
#[derive(Clone, Debug)]
pub(crate) struct MetricCheck {
    /// The name of the check, used in messages.
    pub(crate) name: String,
    /// The PromQL query.
    pub(crate) query: MetricQuery,
    at_least: Option<f64>,
    at_most: Option<f64>,
}

impl MetricCheckSpec {
    pub(super) fn compile(&self) -> Result<MetricCheck, Vec<String>> {
        let Self { name, prometheus: BoundedQuery { query, at_least, at_most } } = self;
        let mut bad: Vec<String> = bad_name(name).into_iter().collect();
        let mut report = |why: String| bad.push(format!("{name}: prometheus: {why}"));
        if query.trim().is_empty() {
            report("the query is empty".to_owned());
        }
        match (at_least, at_most) {
            (None, None) => {
                report("needs `atLeast`, `atMost` or both: otherwise the check could never fail".to_owned())
            }
            (Some(least), Some(most)) if least > most => {
                report(format!("atLeast {least} is more than atMost {most}, so the check could never pass"));
            }
            _ => {}
        }
        let query = MetricQuery::parse(query).map_err(|why| report(format!("query: {why}"))).ok();
        match query {
            Some(query) if bad.is_empty() => {
                Ok(MetricCheck { name: name.clone(), query, at_least: *at_least, at_most: *at_most })
            }
            _ => Err(bad),
        }
    }
}

impl MetricCheck {
    /// Describes the bound that a number violates.
    pub(crate) fn unmet(&self, number: f64) -> Option<String> {
        let (least, most) = (self.at_least.filter(|least| number < *least), self.at_most.filter(|most| number > *most));
        let bound = least.map(|least| ("least", least)).or_else(|| most.map(|most| ("most", most)));
        bound.map(|(word, bound)| format!("is {}, and must be at {word} {bound}", short(number)))
    }
}

/// Formats a number: with an exponent if it is very small or very large.
fn short(number: f64) -> String {
    match number.abs() {
        size if size == 0.0 || (1e-6..1e15).contains(&size) => number.to_string(),
        _ => format!("{number:e}"),
    }
}
