//! Lookups of a rollout outside of its fleet, in the cluster and by HTTP.

use std::time::{Duration, Instant};

use pointsman_core::definition::{Kind, MutatedKind};
use pointsman_core::registration::lacking;
use pointsman_rollout::{
    HttpAddress, LookupRequest, LookupResults, LookupTarget, Rollout, RolloutStatus, http_probes, needs_crd,
    rollout_lookups,
};
use serde_json::Value;

use super::collection::{lookup_path, named};
use super::http_prober::HttpProber;
use super::object_steps::{owners, referring, replaces, seen};
use crate::call_error::{CallError, RIGHTS};
use crate::cluster::{Cluster, Extent};
use crate::crd_state::CrdState;
use crate::pages::{Pages, RetryPolicy};

/// The last lookup results.
#[derive(Default)]
pub(super) struct LookupCache {
    outside: HttpProber,
    answers: LookupResults,
    performed_at: Option<Instant>,
    /// The number of lookups: it grows when a rollout moves forward again.
    count: usize,
}

impl LookupCache {
    /// Empty. `prometheus` is the Prometheus of the cluster.
    pub(super) fn nothing(prometheus: Option<&HttpAddress>) -> Self {
        Self { outside: HttpProber::with(prometheus), ..Self::default() }
    }

    /// Invalidates the results.
    pub(super) fn forget(&mut self) {
        self.performed_at = None;
    }

    /// Performs all lookups: in every pass before the rollout begins, since the first move may follow; later from time
    /// to time. A failed lookup is recorded as unmet.
    ///
    /// # Errors
    /// The API server is temporarily unavailable.
    pub(super) async fn answers(
        &mut self,
        cluster: &Cluster,
        kind: &Kind,
        rollout: &Rollout,
        status: &RolloutStatus,
    ) -> Result<LookupResults, CallError> {
        let (lookups, outside) = (rollout_lookups(rollout, status), http_probes(rollout, status));
        let crd = needs_crd(rollout, status);
        let count = lookups.len() + outside.len() + usize::from(crd);
        let is_fresh = self.performed_at.is_some_and(|performed_at| performed_at.elapsed() < SELDOM);
        if !is_fresh || status.started.is_none() || self.count != count {
            let mut answers = perform_all_lookups(cluster, kind, crd.then_some(kind), &lookups).await?;
            self.outside.probe(&outside, &mut answers).await;
            (self.answers, self.performed_at, self.count) = (answers, Some(Instant::now()), count);
        }
        Ok(self.answers.clone())
    }
}

/// Performs lookups, and compares the CRD with the definition if requested.
async fn perform_all_lookups(
    cluster: &Cluster,
    kind: &Kind,
    crd_of: Option<&Kind>,
    lookups: &[LookupRequest],
) -> Result<LookupResults, CallError> {
    let mut answers = LookupResults::default();
    if let Some(kind) = crd_of {
        let crd = CrdState::fetch(cluster, &format!("{}.{}", kind.plural(), kind.group())).await;
        let lacks = read(crd)?.map(|crd| lacking(kind, crd.document()));
        answers.crd_lacks(lacks);
    }
    perform_lookups(cluster, Compiled { kind, mutated: &[] }, lookups, &mut answers).await?;
    Ok(answers)
}

/// The definitions needed by lookups.
#[derive(Clone, Copy)]
pub(super) struct Compiled<'k> {
    pub(super) kind: &'k Kind,
    pub(super) mutated: &'k [MutatedKind],
}

/// Reads Jobs and other objects that determine the next steps. A failed lookup blocks its object.
///
/// # Errors
/// The API server is temporarily unavailable.
pub(super) async fn perform_lookups(
    cluster: &Cluster,
    known: Compiled<'_>,
    lookups: &[LookupRequest],
    answers: &mut LookupResults,
) -> Result<(), CallError> {
    let mut rest: Vec<&LookupRequest> = lookups.iter().collect();
    while let Some((first, others)) = rest.split_first() {
        let others = others.iter().copied();
        let (alike, next): (Vec<_>, Vec<_>) = others.partition(|other| shares_list(first, other));
        let group: Vec<&LookupRequest> = std::iter::once(*first).chain(alike).collect();
        let why = match perform(cluster, known, &group, answers).await {
            // A backend of the API server fails, such as a conversion webhook: blocks only the requested object.
            Err(error) if error.code().is_some_and(|code| code >= 500) => Some(error.to_string()),
            answer => read(answer)?.err(),
        };
        if let Some(why) = why {
            group.iter().for_each(|lookup| answers.cannot_read(lookup, why.clone()));
        }
        rest = next;
    }
    Ok(())
}

/// True if one list answers both lookups: otherwise a fleet in one namespace would be listed once per object.
fn shares_list(one: &LookupRequest, other: &LookupRequest) -> bool {
    let is_list = match (&one.wanted, &other.wanted) {
        (LookupTarget::Referring(_), LookupTarget::Referring(_)) => true,
        (LookupTarget::Owned(_), LookupTarget::Owned(_)) => (&one.plural, &one.group) == (&other.plural, &other.group),
        _ => false,
    };
    is_list && one.namespace == other.namespace && one.cluster == other.cluster
}

/// The error text of a permanent failure. Temporary failures are returned as errors for a retry.
fn read<T>(answer: Result<T, CallError>) -> Result<Result<T, String>, CallError> {
    match answer {
        Err(error) if error.passes() => Err(error),
        Err(error) if error.is_of_missing_rights() => Ok(Err(format!("{error}: {RIGHTS}"))),
        answer => Ok(answer.map_err(|error| error.to_string())),
    }
}

async fn perform(
    cluster: &Cluster,
    known: Compiled<'_>,
    group: &[&LookupRequest],
    answers: &mut LookupResults,
) -> Result<(), CallError> {
    let Some(lookup) = group.first() else { return Ok(()) };
    match &lookup.wanted {
        LookupTarget::Replaced { name, uid, facts } => {
            return replaces(cluster, known.kind, lookup, (name, uid, facts), answers).await;
        }
        LookupTarget::Mutated { name, mutation } => {
            return seen(cluster, known.mutated, lookup, (name, mutation), answers).await;
        }
        LookupTarget::Referring(_) => return referring(cluster, group, answers).await,
        _ => {}
    }
    match objects(cluster, group, answers).await {
        // A missing resource has no objects.
        Err(error) if error.code() == Some(404) && is_metadata(&lookup.wanted) => {
            group.iter().for_each(|lookup| answers.saw(lookup, &[]));
            Ok(())
        }
        answer => answer,
    }
}

fn is_metadata(wanted: &LookupTarget) -> bool {
    matches!(wanted, LookupTarget::Metadata(_) | LookupTarget::Owned(_))
}

/// Reads objects, page by page.
async fn objects(cluster: &Cluster, group: &[&LookupRequest], answers: &mut LookupResults) -> Result<(), CallError> {
    let Some(lookup) = group.first() else { return Ok(()) };
    let all = lookup_path(cluster, lookup).await?;
    let (labels, extent) = match &lookup.wanted {
        LookupTarget::Named(name) => {
            answers.saw(lookup, named(cluster, &format!("{all}/{name}")).await?.as_slice());
            return Ok(());
        }
        LookupTarget::Labelled(labels) => (labels.as_str(), Extent::Objects),
        LookupTarget::Metadata(labels) => (labels.as_str(), Extent::MetadataOfAll),
        LookupTarget::Owned(_) => ("", Extent::MetadataOfAll),
        // Handled elsewhere.
        LookupTarget::Replaced { .. } | LookupTarget::Referring(_) | LookupTarget::Mutated { .. } => return Ok(()),
    };
    let mut take = |mut list: Value| {
        let items = list.get_mut("items").map(Value::take);
        let items = items.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for lookup in group {
            match &lookup.wanted {
                LookupTarget::Owned(name) => answers.saw(lookup, &owned(items, name)),
                _ => answers.saw(lookup, items),
            }
        }
    };
    let pages = Pages::new(cluster, all, extent, PAGE).labelled(labels).waiting_out(RetryPolicy::ApiServer);
    pages.all(&mut |_, _| {}, &mut take).await
}

/// The objects with an owner reference to this name.
fn owned(items: &[Value], name: &str) -> Vec<Value> {
    let is_its = |item: &&Value| owners(item).any(|owner| owner.get("name").and_then(Value::as_str) == Some(name));
    items.iter().filter(is_its).cloned().collect()
}

/// Interval of lookups while objects are moved: same as for controller Leases.
const SELDOM: Duration = Duration::from_secs(5);

/// Objects per page.
const PAGE: u32 = 500;
