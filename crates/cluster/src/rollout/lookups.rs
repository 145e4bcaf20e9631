//! What a rollout has to know beside its fleet, looked up in the cluster or asked of others.

use std::time::{Duration, Instant};

use pointsman_core::definition::{HttpAddress, Kind, MutatedKind};
use pointsman_core::registration::lacking;
use pointsman_core::rollout::{
    Rollout, LookupResults, LookupRequest, RolloutStatus, LookupTarget, asks_for_crd, rollout_questions,
    web_questions,
};
use serde_json::Value;

use super::object_steps::{replaces, owners, referring, seen};
use super::collection::{asked_for, named};
use super::http_prober::HttpProber;
use crate::call_error::{CallError, RIGHTS};
use crate::cluster::{Cluster, Extent};
use crate::crd_state::CrdState;
use crate::pages::{Pages, RetryPolicy};

/// What was looked up last.
#[derive(Default)]
pub(super) struct LookupCache {
    outside: HttpProber,
    answers: LookupResults,
    looked: Option<Instant>,
    /// How much that was: more is asked once a rollout turns forward again.
    asked: usize,
}

impl LookupCache {
    /// Nothing yet. `prometheus` is that of the cluster.
    pub(super) fn nothing(prometheus: Option<&HttpAddress>) -> Self {
        Self { outside: HttpProber::with(prometheus), ..Self::default() }
    }

    /// What was looked up is of before: the next answers are of a new look.
    pub(super) fn forget(&mut self) {
        self.looked = None;
    }

    /// Looks everything up: before the rollout begins each time, since a look may be the last one before the first
    /// move; then now and then. What cannot be read is told, and does not hold.
    ///
    /// # Errors
    /// The API server cannot be asked now, and may be in a moment.
    pub(super) async fn answers(
        &mut self,
        cluster: &Cluster,
        kind: &Kind,
        rollout: &Rollout,
        status: &RolloutStatus,
    ) -> Result<LookupResults, CallError> {
        let (questions, outside) = (rollout_questions(rollout, status), web_questions(rollout, status));
        let crd = asks_for_crd(rollout, status);
        let asks = questions.len() + outside.len() + usize::from(crd);
        let is_fresh = self.looked.is_some_and(|looked| looked.elapsed() < SELDOM);
        if !is_fresh || status.started.is_none() || self.asked != asks {
            let mut answers = look_up(cluster, kind, crd.then_some(kind), &questions).await?;
            self.outside.ask(&outside, &mut answers).await;
            (self.answers, self.looked, self.asked) = (answers, Some(Instant::now()), asks);
        }
        Ok(self.answers.clone())
    }
}

/// Looks up what is asked, and what the CRD of a kind lacks, where that is asked as well.
async fn look_up(
    cluster: &Cluster,
    kind: &Kind,
    crd_of: Option<&Kind>,
    questions: &[LookupRequest],
) -> Result<LookupResults, CallError> {
    let mut answers = LookupResults::default();
    if let Some(kind) = crd_of {
        let crd = CrdState::fetch(cluster, &format!("{}.{}", kind.plural(), kind.group())).await;
        let lacks = read(crd)?.map(|crd| lacking(kind, crd.document()));
        answers.crd_lacks(lacks);
    }
    look_up_more(cluster, Compiled { kind, mutated: &[] }, questions, &mut answers).await?;
    Ok(answers)
}

/// The definitions that questions are answered by.
#[derive(Clone, Copy)]
pub(super) struct Compiled<'k> {
    pub(super) kind: &'k Kind,
    pub(super) mutated: &'k [MutatedKind],
}

/// Looks up Jobs and other objects, which tell what comes next of what is under way. What cannot be read is told, and
/// holds it up.
///
/// # Errors
/// The API server cannot be asked now, and may be in a moment.
pub(super) async fn look_up_more(
    cluster: &Cluster,
    known: Compiled<'_>,
    questions: &[LookupRequest],
    answers: &mut LookupResults,
) -> Result<(), CallError> {
    let mut rest: Vec<&LookupRequest> = questions.iter().collect();
    while let Some((first, others)) = rest.split_first() {
        let others = others.iter().copied();
        let (alike, next): (Vec<_>, Vec<_>) = others.partition(|other| is_answered_beside(first, other));
        let asked: Vec<&LookupRequest> = std::iter::once(*first).chain(alike).collect();
        let why = match look(cluster, known, &asked, answers).await {
            // Somebody behind the API server does not answer, such as a webhook that converts: that holds up the object
            // that is asked about, and no other.
            Err(error) if error.code().is_some_and(|code| code >= 500) => Some(error.to_string()),
            answer => read(answer)?.err(),
        };
        if let Some(why) = why {
            asked.iter().for_each(|question| answers.cannot_read(question, why.clone()));
        }
        rest = next;
    }
    Ok(())
}

/// Whether one look at the same lists answers both: a fleet in one namespace would be listed once for each of its
/// objects.
fn is_answered_beside(one: &LookupRequest, other: &LookupRequest) -> bool {
    let is_list = match (&one.wanted, &other.wanted) {
        (LookupTarget::Referring(_), LookupTarget::Referring(_)) => true,
        (LookupTarget::Owned(_), LookupTarget::Owned(_)) => {
            (&one.plural, &one.group) == (&other.plural, &other.group)
        }
        _ => false,
    };
    is_list && one.namespace == other.namespace && one.cluster == other.cluster
}

/// What cannot be read, in words. What may be read in a moment is asked again, and is no answer.
fn read<T>(answer: Result<T, CallError>) -> Result<Result<T, String>, CallError> {
    match answer {
        Err(error) if error.passes() => Err(error),
        Err(error) if error.is_of_missing_rights() => Ok(Err(format!("{error}: {RIGHTS}"))),
        answer => Ok(answer.map_err(|error| error.to_string())),
    }
}

async fn look(
    cluster: &Cluster,
    known: Compiled<'_>,
    asked: &[&LookupRequest],
    answers: &mut LookupResults,
) -> Result<(), CallError> {
    let Some(question) = asked.first() else { return Ok(()) };
    match &question.wanted {
        LookupTarget::Replaced { name, uid, facts } => {
            return replaces(cluster, known.kind, question, (name, uid, facts), answers).await;
        }
        LookupTarget::Mutated { name, mutation } => {
            return seen(cluster, known.mutated, question, (name, mutation), answers).await;
        }
        LookupTarget::Referring(_) => return referring(cluster, asked, answers).await,
        _ => {}
    }
    match objects(cluster, asked, answers).await {
        // Nothing can be of a resource that there is not.
        Err(error) if error.code() == Some(404) && is_metadata(&question.wanted) => {
            asked.iter().for_each(|question| answers.saw(question, &[]));
            Ok(())
        }
        answer => answer,
    }
}

fn is_metadata(wanted: &LookupTarget) -> bool {
    matches!(wanted, LookupTarget::Metadata(_) | LookupTarget::Owned(_))
}

/// Looks up objects, and tells a page of them after the other.
async fn objects(cluster: &Cluster, asked: &[&LookupRequest], answers: &mut LookupResults) -> Result<(), CallError> {
    let Some(question) = asked.first() else { return Ok(()) };
    let all = asked_for(cluster, question).await?;
    let (labels, extent) = match &question.wanted {
        LookupTarget::Named(name) => {
            answers.saw(question, named(cluster, &format!("{all}/{name}")).await?.as_slice());
            return Ok(());
        }
        LookupTarget::Labelled(labels) => (labels.as_str(), Extent::Objects),
        LookupTarget::Metadata(labels) => (labels.as_str(), Extent::MetadataOfAll),
        LookupTarget::Owned(_) => ("", Extent::MetadataOfAll),
        // They are answered otherwise.
        LookupTarget::Replaced { .. } | LookupTarget::Referring(_) | LookupTarget::Mutated { .. } => return Ok(()),
    };
    let mut take = |mut list: Value| {
        let items = list.get_mut("items").map(Value::take);
        let items = items.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for question in asked {
            match &question.wanted {
                LookupTarget::Owned(name) => answers.saw(question, &owned(items, name)),
                _ => answers.saw(question, items),
            }
        }
    };
    let pages = Pages::new(cluster, all, extent, PAGE).labelled(labels).waiting_out(RetryPolicy::ApiServer);
    pages.all(&mut |_, _| {}, &mut take).await
}

/// Those of a list with an owner reference to something of a name.
fn owned(items: &[Value], name: &str) -> Vec<Value> {
    let is_its = |item: &&Value| owners(item).any(|owner| owner.get("name").and_then(Value::as_str) == Some(name));
    items.iter().filter(is_its).cloned().collect()
}

/// How often it is looked up while objects are moved: as often as the Leases of controllers.
const SELDOM: Duration = Duration::from_secs(5);

/// Objects of a page.
const PAGE: u32 = 500;
