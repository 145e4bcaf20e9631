//! Whom whoever runs a rollout has to ask beside the cluster.

use super::lookup_request::LookupPurpose;
use crate::definition::{HttpAddress, NamedCheck, RolloutVersions};

/// Somebody to ask. What is answered has to be told to [`super::RolloutAnswers`], and so has that nothing is: what
/// nobody answers does not hold.
#[derive(Clone, Debug)]
pub struct HttpProbe {
    pub(super) about: LookupPurpose,
    /// What is asked, and of whom.
    pub asks: ProbeKind,
}

/// What is asked, and of whom.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProbeKind {
    /// The Prometheus of this cluster, by this query.
    Number(String),
    /// This address, of whose answer the status alone is looked at.
    Page(HttpAddress),
}

impl HttpProbe {
    /// What a check asks for a rollout, if it asks anybody. `about` says which list of checks it is of.
    pub(super) fn of(check: &NamedCheck, about: fn(String) -> LookupPurpose, versions: RolloutVersions<'_>) -> Option<Self> {
        let (name, asks) = match check {
            NamedCheck::Http(page) => (&page.name, ProbeKind::Page(page.address.filled(versions))),
            NamedCheck::Metric(metric) => (&metric.name, ProbeKind::Number(metric.query.filled(versions))),
            NamedCheck::List(_) => return None,
        };
        Some(Self { about: about(name.clone()), asks })
    }
}
