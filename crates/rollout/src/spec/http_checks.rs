//! Messages of failed HTTP and Prometheus checks.

use pointsman_core::apimachinery::excerpt;
use pointsman_core::definition::{HttpAddress, MetricCheck};

/// The message of a page check without success.
pub(crate) fn unmet_page(name: &str, address: &HttpAddress, answer: Option<&Result<(), String>>) -> Option<String> {
    match answer {
        None => Some(format!("{name}: {address} was not read yet")),
        Some(Err(why)) => Some(format!("{name}: {address} does not answer with 2xx: {why}")),
        Some(Ok(())) => None,
    }
}

/// The message of a number outside its bounds. `query` is the Prometheus query.
pub(crate) fn unmet_number(check: &MetricCheck, query: &str, answer: Option<&Result<f64, String>>) -> Option<String> {
    let (name, query) = (&check.name, one_line(query));
    match answer {
        None => Some(format!("{name}: Prometheus was not queried yet for {query}")),
        Some(Err(why)) => Some(format!("{name}: {query} cannot be read: {why}")),
        Some(Ok(number)) => check.unmet(*number).map(|why| format!("{name}: {query} {why}")),
    }
}

/// A query in one short line.
fn one_line(query: &str) -> String {
    excerpt(&query.split_whitespace().collect::<Vec<_>>().join(" "))
}
