//! Parses a Prometheus query response into one number, or an error (prometheus.io/docs/prometheus/latest/querying/api,
//! "Instant queries" and "Expression query result formats").

use serde_json::Value;

use super::probe_result::ProbeResult;
use crate::apimachinery::excerpt;

/// The single number of a response. Any other response is an error, so an unknown value never opens a gate.
pub(super) fn read_number(answer: &ProbeResult) -> Result<f64, String> {
    let response: Option<Value> = serde_json::from_slice(&answer.body).ok();
    if !answer.is_fine() {
        let error = response.as_ref().and_then(error).map(|error| format!(": {error}"));
        return Err(format!("Prometheus answers {}{}", answer.status(), error.unwrap_or_default()));
    }
    let response = response.ok_or("what answers is not JSON: is it the API of Prometheus?")?;
    let text = |path: &str| response.pointer(path).and_then(Value::as_str);
    if text("/status") != Some("success") {
        let error =
            error(&response).ok_or("what answers does not say `status: success`: is it the API of Prometheus?")?;
        return Err(format!("Prometheus says {error}"));
    }
    // With a warning, a federated query may miss a server, which makes the sum wrong.
    let warning = response.pointer("/warnings/0").map(|warning| excerpt(warning.as_str().unwrap_or("something")));
    if let Some(warning) = warning {
        return Err(format!("Prometheus warns that {warning:?}"));
    }
    let result = response.pointer("/data/result");
    match (text("/data/resultType"), result.and_then(Value::as_array).map(Vec::as_slice)) {
        (Some("scalar"), Some([_, number])) => finite(number),
        (Some("vector"), Some([])) => Err("Prometheus has no sample of it".to_owned()),
        (Some("vector"), Some([one])) => match one.pointer("/value/1") {
            Some(number) => finite(number),
            None => Err("Prometheus has a histogram of it, and a number is needed".to_owned()),
        },
        (Some("vector"), Some(more)) => {
            Err(format!("Prometheus has {} samples of it, and one is needed: sum(…) makes one of them", more.len()))
        }
        (Some(other @ ("matrix" | "string")), _) => Err(format!("it is a {other}, and a number is needed")),
        _ => Err("what answers has no result: is it the API of Prometheus?".to_owned()),
    }
}

/// A number, which Prometheus encodes as a string.
fn finite(response: &Value) -> Result<f64, String> {
    let text = response.as_str().ok_or("what answers has a number that is none: is it the API of Prometheus?")?;
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("Prometheus says {:?}, which cannot be compared", excerpt(text))),
    }
}

/// The error of a Prometheus response, if present.
fn error(response: &Value) -> Option<String> {
    let text = |name: &str| response.get(name).and_then(Value::as_str).map(excerpt);
    Some(format!("{}: {}", text("errorType")?, text("error")?))
}
