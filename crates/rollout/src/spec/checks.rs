//! The checks of a rollout to a version, as far as they concern the cluster apart from the fleet.

use crate::definition::checks::{Checks, HttpAddress, HttpCheck, ListCheck, MetricCheck, NamedCheck, StartCheck};
use crate::definition::rollout_versions::RolloutVersions;
use crate::lookup::http::HttpProbe;
use crate::lookup::request::{LookupPurpose, LookupRequest};
use crate::lookup::results::{FoundObjects, LookupResults};
use pointsman_core::apimachinery::excerpt;
use pointsman_core::definition::Kind;
use pointsman_core::definition::admission::{APPLIED, AVAILABLE, Needs, Prerequisites};
use pointsman_core::definition::upgrade::VersionText;

/// The checks of a rollout to a version.
#[derive(Clone, Debug)]
pub(crate) struct RolloutChecks {
    checks: Checks,
    /// The versions of the rollout in forward direction: the source, if specified, and the target.
    from: Option<String>,
    to: String,
    /// The CRD name for messages.
    pub(crate) crd: String,
    needs: Needs,
    prerequisites: Option<Prerequisites>,
}

/// The time at which start checks run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CheckTime {
    /// Before the rollout begins.
    AtStart,
    /// Between waves.
    Again,
}

impl CheckTime {
    /// True if a prerequisite has the required state. Between waves, a prerequisite that had to be available may be
    /// applied already.
    fn is_met(self, wanted: &str, state: &str) -> bool {
        let is_applied_since = self == Self::Again && wanted == AVAILABLE && state.eq_ignore_ascii_case(APPLIED);
        state.eq_ignore_ascii_case(wanted) || is_applied_since
    }
}

impl RolloutChecks {
    /// The checks of a kind, for a rollout between these versions.
    pub(crate) fn of(kind: &Kind, checks: Checks, RolloutVersions { from, to }: RolloutVersions<'_>) -> Self {
        let admission = &kind.admission;
        let it = VersionText::new(to);
        let mut all = admission.version_path.iter().flat_map(|path| path.needs());
        let needs = all.find(|(named, _)| VersionText::new(named).is(&it));
        Self {
            checks,
            from: from.map(str::to_owned),
            to: to.to_owned(),
            crd: format!("{}.{}", kind.plural(), kind.group()),
            needs: needs.map_or_else(Needs::default, |(_, needs)| needs.clone()),
            prerequisites: admission.prerequisites.clone(),
        }
    }

    /// The checks of a rollout without a controller version.
    pub(crate) fn without_versions(self) -> Self {
        Self { checks: self.checks.without_versions(), ..self }
    }

    /// Errors of checks that cannot run, one sentence each.
    pub(crate) fn unfit(&self) -> Vec<String> {
        let mut unfit: Vec<String> = self.checks.named().filter_map(|check| check.unfit(self.versions())).collect();
        unfit.dedup();
        unfit
    }

    fn versions(&self) -> RolloutVersions<'_> {
        RolloutVersions { from: self.from.as_deref(), to: &self.to }
    }

    /// Start checks, in the order of the definition.
    pub(crate) fn start(&self) -> &[StartCheck] {
        &self.checks.start
    }

    /// Lookups before the start.
    pub(crate) fn at_start(&self) -> Vec<LookupRequest> {
        let lookups = self.checks.start.iter().flat_map(|check| match check {
            StartCheck::Named(NamedCheck::List(list)) => {
                vec![LookupRequest::of_list(LookupPurpose::Start(list.name.clone()), &list.filled(self.versions()))]
            }
            StartCheck::Needs => {
                let places = self.prerequisites.iter();
                places.flat_map(|place| self.needs.all().map(|(id, _)| LookupRequest::of_need(id, place))).collect()
            }
            StartCheck::Named(NamedCheck::Http(_) | NamedCheck::Metric(_))
            | StartCheck::Controllers
            | StartCheck::Crd
            | StartCheck::Paths => Vec::new(),
        });
        lookups.collect()
    }

    /// Lookups while objects are moved.
    pub(crate) fn on_the_way(&self) -> Vec<LookupRequest> {
        let lists = self.checks.during.iter().filter_map(|check| match check {
            NamedCheck::List(list) => Some(list),
            NamedCheck::Http(_) | NamedCheck::Metric(_) => None,
        });
        let filled = lists.map(|list| list.filled(self.versions()));
        filled.map(|list| LookupRequest::of_list(LookupPurpose::During(list.name.clone()), &list)).collect()
    }

    /// HTTP probes before the start.
    pub(crate) fn web_at_start(&self) -> Vec<HttpProbe> {
        let named = self.checks.start.iter().filter_map(|check| match check {
            StartCheck::Named(check) => Some(check),
            StartCheck::Controllers | StartCheck::Crd | StartCheck::Needs | StartCheck::Paths => None,
        });
        named.filter_map(|check| HttpProbe::of(check, LookupPurpose::Start, self.versions())).collect()
    }

    /// HTTP probes while objects are moved.
    pub(crate) fn web_on_the_way(&self) -> Vec<HttpProbe> {
        let during = self.checks.during.iter();
        during.filter_map(|check| HttpProbe::of(check, LookupPurpose::During, self.versions())).collect()
    }

    /// The first unmet check while objects are moved, as a message.
    pub(crate) fn closed_gate(&self, answers: &LookupResults) -> Option<String> {
        self.checks.during.iter().find_map(|check| self.unmet(check, LookupPurpose::During, answers))
    }

    /// The unmet condition of a start check, as a message.
    pub(crate) fn faults(&self, check: &NamedCheck, answers: &LookupResults) -> Option<String> {
        self.unmet(check, LookupPurpose::Start, answers)
    }

    /// The unmet condition of a check. `about` identifies the list of checks.
    fn unmet(&self, check: &NamedCheck, about: fn(String) -> LookupPurpose, answers: &LookupResults) -> Option<String> {
        match check {
            NamedCheck::Http(HttpCheck { name, address }) => {
                unmet_page(name, &address.filled(self.versions()), answers.page(&about(name.clone())))
            }
            NamedCheck::List(list) => unmet_list(list, answers.of(&about(list.name.clone()))),
            NamedCheck::Metric(metric) => {
                let query = metric.query.filled(self.versions());
                unmet_number(metric, &query, answers.number(&about(metric.name.clone())))
            }
        }
    }

    /// Unmet prerequisites, one sentence each.
    pub(crate) fn missing(&self, answers: &LookupResults, when: CheckTime) -> Vec<String> {
        let missing = |(id, wanted): (&str, &str)| {
            let must = format!("needs: {id} must be {wanted} before a rollout to {} starts", self.to);
            let name = self.prerequisites.as_ref().map_or_else(String::new, |place| {
                let namespace = place.namespace.iter().map(|namespace| format!("{namespace}/"));
                format!("{} {}{}", place.resource, namespace.collect::<String>(), place.name_of(id))
            });
            match answers.of(&LookupPurpose::Need(id.to_owned())) {
                None => Some(format!("{must}, and {name} was not read yet")),
                Some(Err(why)) => Some(format!("{must}, and {name} cannot be read: {why}")),
                Some(Ok(FoundObjects { objects: 0, .. })) => Some(format!("{must}, but {name} does not exist")),
                Some(Ok(FoundObjects { state: None, .. })) => Some(format!("{must}, and {name} has no value")),
                Some(Ok(FoundObjects { state: Some(state), .. })) => {
                    (!when.is_met(wanted, state)).then(|| format!("{must}, and {name} has {:?}", excerpt(state)))
                }
            }
        };
        self.needs.all().filter_map(missing).collect()
    }
}

/// Message about objects that fail a list check.
fn unmet_list(list: &ListCheck, answer: Option<&Result<FoundObjects, String>>) -> Option<String> {
    let (name, resource) = (&list.name, &list.resource);
    match answer {
        None => Some(format!("{name}: {resource} was not read yet")),
        Some(Err(why)) => Some(format!("{name}: {resource} cannot be read: {why}")),
        Some(Ok(FoundObjects { unmet: 0, .. })) => None,
        Some(Ok(found)) => {
            let more = match found.unmet.saturating_sub(found.shown.len()) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            Some(format!("{name}: {resource} {}{more}", found.shown.join("; ")))
        }
    }
}

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
