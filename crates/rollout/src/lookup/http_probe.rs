//! HTTP requests that the runner sends outside of the cluster's API.

use super::request::LookupPurpose;
use pointsman_core::definition::{HttpAddress, NamedCheck, RolloutVersions};

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
