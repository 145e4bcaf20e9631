//! What a roll has to know beside its fleet, looked up in the cluster or asked of others.

use std::time::{Duration, Instant};

use pointsman_core::definition::{HttpAddress, Kind, StagedKind};
use pointsman_core::registration::lacking;
use pointsman_core::roll::{
    FleetRoll, RollAnswers, RollQuestion, RollStatus, WantedObjects, asks_for_crd, roll_questions, web_questions,
};
use serde_json::Value;

use super::beside::{becomes, referring, seen};
use super::collection::{asked_for, named};
use super::outside::Outside;
use crate::call_error::{CallError, RIGHTS};
use crate::cluster::{Cluster, Extent};
use crate::crd_state::CrdState;
use crate::pages::{Pages, WaitsOut};

/// What was looked up last.
#[derive(Default)]
pub(super) struct LookedUp {
    outside: Outside,
    answers: RollAnswers,
    looked: Option<Instant>,
    /// How much that was: more is asked once a roll turns forward again.
    asked: usize,
}

impl LookedUp {
    /// Nothing yet. `prometheus` is that of the cluster.
    pub(super) fn nothing(prometheus: Option<&HttpAddress>) -> Self {
        Self { outside: Outside::with(prometheus), ..Self::default() }
    }

    /// Looks everything up: before the roll begins each time, since a look may be the last one before the first move;
    /// then now and then. What cannot be read is told, and does not hold.
    ///
    /// # Errors
    /// The API server cannot be asked now, and may be in a moment.
    pub(super) async fn answers(
        &mut self,
        cluster: &Cluster,
        kind: &Kind,
        roll: &FleetRoll,
        status: &RollStatus,
    ) -> Result<RollAnswers, CallError> {
        let (questions, outside) = (roll_questions(roll, status), web_questions(roll, status));
        let crd = asks_for_crd(roll, status);
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
    questions: &[RollQuestion],
) -> Result<RollAnswers, CallError> {
    let mut answers = RollAnswers::default();
    if let Some(kind) = crd_of {
        let crd = CrdState::fetch(cluster, &format!("{}.{}", kind.plural(), kind.group())).await;
        let lacks = read(crd)?.map(|crd| lacking(kind, crd.document()));
        answers.crd_lacks(lacks);
    }
    look_up_more(cluster, Compiled { kind, staged: &[] }, questions, &mut answers).await?;
    Ok(answers)
}

/// The definitions that questions are answered by.
#[derive(Clone, Copy)]
pub(super) struct Compiled<'k> {
    pub(super) kind: &'k Kind,
    pub(super) staged: &'k [StagedKind],
}

/// Looks up Jobs and other objects, which tell what comes next of what is under way. What cannot be read is told, and
/// holds it up.
///
/// # Errors
/// The API server cannot be asked now, and may be in a moment.
pub(super) async fn look_up_more(
    cluster: &Cluster,
    known: Compiled<'_>,
    questions: &[RollQuestion],
    answers: &mut RollAnswers,
) -> Result<(), CallError> {
    for question in questions {
        let why = match look(cluster, known, question, answers).await {
            // Somebody behind the API server does not answer, such as a webhook that converts: that holds up the object
            // that is asked about, and no other.
            Err(error) if error.code().is_some_and(|code| code >= 500) => Some(error.to_string()),
            answer => read(answer)?.err(),
        };
        if let Some(why) = why {
            answers.cannot_read(question, why);
        }
    }
    Ok(())
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
    question: &RollQuestion,
    answers: &mut RollAnswers,
) -> Result<(), CallError> {
    match &question.wanted {
        WantedObjects::Becoming { name, uid, facts } => {
            return becomes(cluster, known.kind, question, (name, uid, facts), answers).await;
        }
        WantedObjects::Staged { name, stage } => {
            return seen(cluster, known.staged, question, (name, stage), answers).await;
        }
        WantedObjects::Referring(uid) => return referring(cluster, question, uid, answers).await,
        _ => {}
    }
    match objects(cluster, question, answers).await {
        // Nothing can be of a resource that there is not.
        Err(error) if error.code() == Some(404) && matches!(question.wanted, WantedObjects::Metadata(_)) => {
            answers.saw(question, &[]);
            Ok(())
        }
        answer => answer,
    }
}

/// Looks up objects, and tells a page of them after the other.
async fn objects(cluster: &Cluster, question: &RollQuestion, answers: &mut RollAnswers) -> Result<(), CallError> {
    let all = asked_for(cluster, question).await?;
    let (labels, extent) = match &question.wanted {
        WantedObjects::Named(name) => {
            answers.saw(question, named(cluster, &format!("{all}/{name}")).await?.as_slice());
            return Ok(());
        }
        WantedObjects::Labelled(labels) => (labels, Extent::Objects),
        WantedObjects::Metadata(labels) => (labels, Extent::MetadataOfAll),
        // They are answered otherwise.
        WantedObjects::Becoming { .. } | WantedObjects::Referring(_) | WantedObjects::Staged { .. } => return Ok(()),
    };
    let mut take = |mut list: Value| match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => answers.saw(question, &items),
        _ => answers.saw(question, &[]),
    };
    let pages = Pages::new(cluster, all, extent, PAGE).labelled(labels).waiting_out(WaitsOut::ApiServer);
    pages.all(&mut |_, _| {}, &mut take).await
}

/// How often it is looked up while objects are moved: as often as the Leases of controllers.
const SELDOM: Duration = Duration::from_secs(5);

/// Objects of a page.
const PAGE: u32 = 500;
