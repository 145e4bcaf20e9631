//! What is not as it should be, of what somebody was asked.

use crate::apimachinery::excerpt;
use crate::definition::{HttpAddress, MetricCheck};

/// Why somebody does not say that all is well.
pub(super) fn unmet_page(name: &str, address: &HttpAddress, answer: Option<&Result<(), String>>) -> Option<String> {
    match answer {
        None => Some(format!("{name}: nobody has asked {address}")),
        Some(Err(why)) => Some(format!("{name}: {address} does not answer with 2xx: {why}")),
        Some(Ok(())) => None,
    }
}

/// Why a number of Prometheus is not within its bounds. `query` is what it was asked.
pub(super) fn unmet_number(check: &MetricCheck, query: &str, answer: Option<&Result<f64, String>>) -> Option<String> {
    let (name, query) = (&check.name, one_line(query));
    match answer {
        None => Some(format!("{name}: nobody has asked Prometheus for {query}")),
        Some(Err(why)) => Some(format!("{name}: {query} cannot be read: {why}")),
        Some(Ok(number)) => check.unmet(*number).map(|why| format!("{name}: {query} {why}")),
    }
}

/// A query as it fits into a sentence.
fn one_line(query: &str) -> String {
    excerpt(&query.split_whitespace().collect::<Vec<_>>().join(" "))
}
