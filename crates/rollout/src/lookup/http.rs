//! HTTP requests that the runner sends outside of the cluster's API.

use super::request::LookupPurpose;
use crate::definition::checks::{HttpAddress, NamedCheck};
use crate::definition::rollout_versions::RolloutVersions;
use pointsman_core::apimachinery::excerpt;
use serde_json::Value;

/// An HTTP request. Pass the response or its absence to [`crate::LookupResults`]: a check without response is unmet.
#[derive(Clone, Debug)]
pub struct HttpProbe {
    pub(crate) about: LookupPurpose,
    /// The request and its receiver.
    pub kind: ProbeKind,
}

/// The request and its receiver.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProbeKind {
    /// This query, to the Prometheus of the cluster.
    Number(String),
    /// This address; only the status of the response counts.
    Page(HttpAddress),
}

impl HttpProbe {
    /// The probe of a check, if it needs one. `about` identifies the list of checks.
    pub(crate) fn of(
        check: &NamedCheck,
        about: fn(String) -> LookupPurpose,
        versions: RolloutVersions<'_>,
    ) -> Option<Self> {
        let (name, kind) = match check {
            NamedCheck::Http(page) => (&page.name, ProbeKind::Page(page.address.filled(versions))),
            NamedCheck::Metric(metric) => (&metric.name, ProbeKind::Number(metric.query.filled(versions))),
            NamedCheck::List(_) => return None,
        };
        Some(Self { about: about(name.clone()), kind })
    }
}

/// An HTTP response.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// The status code.
    pub code: u16,
    /// The whole body; empty if only the status counts.
    pub body: Vec<u8>,
}

impl ProbeResult {
    /// True if the status is 2xx.
    pub(crate) fn is_fine(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// An error unless the status is 2xx.
    pub(crate) fn fine(&self) -> Result<(), String> {
        if self.is_fine() { Ok(()) } else { Err(self.status()) }
    }

    /// The status as error text.
    pub(crate) fn status(&self) -> String {
        match self.code {
            300..400 => {
                format!("HTTP {}: redirects are not followed: use the address of the target", self.code)
            }
            code => format!("HTTP {code}"),
        }
    }
}

/// The single number of a response. Any other response is an error, so an unknown value never opens a gate.
pub(crate) fn read_number(answer: &ProbeResult) -> Result<f64, String> {
    let response: Option<Value> = serde_json::from_slice(&answer.body).ok();
    if !answer.is_fine() {
        let error = response.as_ref().and_then(error).map(|error| format!(": {error}"));
        return Err(format!("Prometheus answers {}{}", answer.status(), error.unwrap_or_default()));
    }
    let response = response.ok_or("the response is no JSON; check that this is the API of Prometheus")?;
    let text = |path: &str| response.pointer(path).and_then(Value::as_str);
    if text("/status") != Some("success") {
        let error = error(&response)
            .ok_or("the response has no `status: success`; check that this is the API of Prometheus")?;
        return Err(format!("Prometheus returned {error}"));
    }
    // With a warning, a federated query may miss a server, which makes the sum wrong.
    let warning = response.pointer("/warnings/0").map(|warning| excerpt(warning.as_str().unwrap_or("something")));
    if let Some(warning) = warning {
        return Err(format!("Prometheus warns: {warning:?}"));
    }
    let result = response.pointer("/data/result");
    match (text("/data/resultType"), result.and_then(Value::as_array).map(Vec::as_slice)) {
        (Some("scalar"), Some([_, number])) => finite(number),
        (Some("vector"), Some([])) => Err("the query has no sample".to_owned()),
        (Some("vector"), Some([one])) => match one.pointer("/value/1") {
            Some(number) => finite(number),
            None => Err("the query returns a histogram instead of a number".to_owned()),
        },
        (Some("vector"), Some(more)) => {
            Err(format!("the query returns {} samples instead of one: aggregate the samples with sum(…)", more.len()))
        }
        (Some(other @ ("matrix" | "string")), _) => Err(format!("the query returns a {other} instead of a number")),
        _ => Err("the response has no result; check that this is the API of Prometheus".to_owned()),
    }
}

/// A number, which Prometheus encodes as a string.
fn finite(response: &Value) -> Result<f64, String> {
    let text =
        response.as_str().ok_or("the response has an invalid number; check that this is the API of Prometheus")?;
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("Prometheus returned {:?}, which cannot be compared", excerpt(text))),
    }
}

/// The error of a Prometheus response, if present.
fn error(response: &Value) -> Option<String> {
    let text = |name: &str| response.get(name).and_then(Value::as_str).map(excerpt);
    Some(format!("{}: {}", text("errorType")?, text("error")?))
}
