//! How objects of another kind become objects of a kind, compiled.

use std::sync::Arc;

use crate::definition::gates::Gate;
use crate::definition::{Kind, StepSummary};

/// How objects of another kind, that goes, become objects of a kind.
#[derive(Debug)]
pub struct Becoming {
    /// Both kinds as one, whose older version is the kind that goes.
    pub(super) bridge: Kind,
    pub(super) source_names: Vec<String>,
    pub(super) source_plural: String,
    pub(super) source_api_version: String,
    pub(super) source_kind: Arc<str>,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) refusals: Vec<Refusal>,
}

/// A condition under which an object does not become another one.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// What holds of such an object.
    pub(crate) gate: Gate,
    /// Why it is refused, for its owner.
    pub(crate) message: String,
}

impl Becoming {
    /// The kind that goes.
    #[must_use]
    pub fn source_kind(&self) -> &str {
        &self.source_kind
    }

    /// The API group of the kind that goes.
    #[must_use]
    pub fn source_group(&self) -> &str {
        self.source_api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The plural of the kind that goes, as in URLs.
    #[must_use]
    pub fn source_plural(&self) -> &str {
        &self.source_plural
    }

    /// The version of the kind that goes that is converted.
    #[must_use]
    pub fn from(&self) -> &str {
        &self.from
    }

    /// The version of the other kind that its objects become.
    #[must_use]
    pub fn to(&self) -> &str {
        &self.to
    }

    /// What the kind that goes is called: as kubectl takes it, alone, with the group, and with the version and the
    /// group.
    #[must_use]
    pub fn source_names(&self) -> Vec<String> {
        let group = self.source_group();
        let all = self.source_names.iter();
        all.flat_map(|name| [name.clone(), format!("{name}.{group}"), format!("{name}.{}.{group}", self.from)])
            .collect()
    }

    /// The facts that its operations may need beside an object: their names, sorted.
    pub fn facts(&self) -> impl Iterator<Item = &str> {
        let facts = self.bridge.steps.iter().flat_map(|step| &step.level.facts);
        facts.map(|fact| fact.name.as_str())
    }

    /// What happens between the two kinds.
    #[must_use]
    pub fn steps(&self) -> Vec<StepSummary> {
        self.bridge.steps()
    }

    /// Why objects are refused, one sentence for each reason.
    pub fn refusals(&self) -> impl Iterator<Item = &str> {
        self.refusals.iter().map(|refusal| refusal.message.as_str())
    }

    /// Both kinds as one of two versions, `PLURAL.VERSION` each, for the laws. Objects are converted between the two as
    /// they are, without a look at who they are.
    #[must_use]
    pub fn into_versions(self) -> Kind {
        self.bridge
    }

    /// Both kinds as one, whose older version is the kind that goes.
    pub(crate) fn bridge(&self) -> &Kind {
        &self.bridge
    }

    /// Why an object of the kind that goes may be refused.
    pub(crate) fn refused(&self) -> &[Refusal] {
        &self.refusals
    }
}
