//! What is looked up beside the passes of a roll: in other clusters, and of objects that have not begun. Nobody waits
//! for an answer that does not come, and nobody is asked again before 30 s are over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pointsman_core::roll::{ObjectWrite, OtherCluster, RollAnswers, RollQuestion, WantedObjects};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::collection::{asked_for, collection, named};
use super::writes::Landed;
use crate::call_error::{CallError, RIGHTS};
use crate::cluster::Cluster;
use crate::connect::connect_by_text;
use crate::pages::next_page;
use crate::quoted::quoted;

/// Other clusters, and what was heard last.
pub(super) struct Elsewhere {
    clusters: OtherClusters,
    heard: BTreeMap<String, HeardThere>,
    asking: JoinSet<(String, HeardThere)>,
    /// Whom is asked now.
    asked: BTreeMap<String, Option<OtherCluster>>,
    room: Arc<Semaphore>,
}

/// An answer, or why there is none.
struct HeardThere {
    answers: RollAnswers,
    of: Option<OtherCluster>,
    at: Instant,
}

/// One connection for each Secret, as it was when that was read last.
type OtherClusters = Arc<Mutex<BTreeMap<OtherCluster, (String, Cluster)>>>;

impl Default for Elsewhere {
    fn default() -> Self {
        Self {
            clusters: OtherClusters::default(),
            heard: BTreeMap::new(),
            asking: JoinSet::new(),
            asked: BTreeMap::new(),
            room: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Elsewhere {
    /// Asks what was not asked within the last 30 s, and tells what is known. Waits for so long at most for what was
    /// never answered. What nobody asks any more is forgotten, and connections that nobody needs any more are closed.
    pub(super) async fn tell(
        &mut self,
        cluster: &Cluster,
        questions: &[RollQuestion],
        patience: Duration,
        answers: &mut RollAnswers,
    ) {
        let ids: Vec<String> = questions.iter().map(RollQuestion::id).collect();
        let wanted: BTreeSet<&String> = ids.iter().collect();
        self.heard.retain(|id, _| wanted.contains(id));
        let needed: BTreeSet<&OtherCluster> =
            questions.iter().filter_map(|question| question.cluster.as_ref()).collect();
        lock(&self.clusters).retain(|of, _| needed.contains(of));
        for (question, id) in questions.iter().zip(&ids) {
            let is_fresh = self.heard.get(id).is_some_and(|heard| heard.at.elapsed() < AGAIN);
            if !is_fresh && !self.asked.contains_key(id) {
                self.ask(cluster, question.clone(), id.clone());
            }
        }
        let _ = timeout(patience, self.hear(&ids)).await;
        self.collect();
        for (question, id) in questions.iter().zip(&ids) {
            match self.heard.get(id) {
                Some(heard) => answers.again(question, &heard.answers),
                None => answers.cannot_read(question, "there is no answer yet".to_owned()),
            }
        }
    }

    /// Forgets what was heard of these: it was asked anew, by others.
    pub(super) fn forget(&mut self, questions: &[RollQuestion]) {
        questions.iter().for_each(|question| drop(self.heard.remove(&question.id())));
    }

    /// Does what a step asks for in another cluster: it deletes an object, as it was seen.
    pub(super) async fn write(&mut self, of: &OtherCluster, write: &ObjectWrite, options: &Value) -> Landed {
        let known = lock(&self.clusters).get(of).map(|(_, cluster)| cluster.clone());
        let Some(cluster) = known else { return Landed::Stale };
        let work = async {
            let resource = (write.plural.as_str(), write.group.as_str());
            let all = collection(&cluster, resource, write.version.as_deref(), write.namespace.as_deref()).await?;
            cluster.delete_with(&format!("{all}/{}", write.name), options).await
        };
        let answer = timeout(LONGEST, work).await.map_err(|_| late());
        // Whatever came of it, what was heard of that cluster is of before.
        self.heard.retain(|_, heard| heard.of.as_ref() != Some(of));
        self.asked.retain(|_, asked| asked.as_ref() != Some(of));
        match answer {
            Ok(Ok(())) => Landed::Written(Box::default()),
            Ok(Err(error)) if matches!(error.code(), Some(404 | 409)) => Landed::Stale,
            Ok(Err(error)) if matches!(error.code(), Some(400 | 403 | 422)) => Landed::Refused(said(&error)),
            Ok(Err(error)) => Landed::NotYet(said(&error)),
            Err(why) => Landed::NotYet(why),
        }
    }

    fn ask(&mut self, cluster: &Cluster, question: RollQuestion, id: String) {
        let (own, clusters, room) = (cluster.clone(), self.clusters.clone(), self.room.clone());
        let of = question.cluster.clone();
        self.asked.insert(id.clone(), of.clone());
        self.asking.spawn(async move {
            let _place = room.acquire().await;
            let mut answers = RollAnswers::default();
            let looked = timeout(LONGEST, look(&own, &clusters, &question, &mut answers)).await;
            if let Err(why) = looked.unwrap_or_else(|_| Err(late())) {
                answers = RollAnswers::default();
                answers.cannot_read(&question, why);
            }
            (id, HeardThere { answers, of, at: Instant::now() })
        });
    }

    /// Waits until something is known of each.
    async fn hear(&mut self, ids: &[String]) {
        while ids.iter().any(|id| !self.heard.contains_key(id)) {
            match self.asking.join_next().await {
                Some(Ok(heard)) => self.note(heard),
                // Whose question broke is not known: all are asked again.
                Some(Err(_)) => self.asked.clear(),
                None => return,
            }
        }
    }

    /// What has come meanwhile.
    fn collect(&mut self) {
        while let Some(heard) = self.asking.try_join_next() {
            match heard {
                Ok(heard) => self.note(heard),
                Err(_) => self.asked.clear(),
            }
        }
    }

    fn note(&mut self, (id, heard): (String, HeardThere)) {
        // One that is asked no more was asked before something was written.
        if self.asked.remove(&id).is_some() {
            self.heard.insert(id, heard);
        }
    }
}

/// Looks something up. The words of whoever does not answer say why.
async fn look(
    own: &Cluster,
    clusters: &OtherClusters,
    question: &RollQuestion,
    answers: &mut RollAnswers,
) -> Result<(), String> {
    let cluster = match &question.cluster {
        Some(of) => connected(own, clusters, of).await?,
        None => own.clone(),
    };
    objects(&cluster, question, answers).await.map_err(|error| said(&error))
}

/// The cluster that a Secret leads to. A Secret that has changed leads there anew.
async fn connected(own: &Cluster, clusters: &OtherClusters, of: &OtherCluster) -> Result<Cluster, String> {
    let path = format!("/api/v1/namespaces/{}/secrets/{}", of.namespace, of.secret);
    let secret = own.find(&path).await.map_err(|error| said(&error))?;
    let Some(secret) = secret else {
        return Err(format!("there is no secret {}/{}, which has to say how it is reached", of.namespace, of.secret));
    };
    let version = secret.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let known = lock(clusters).get(of).filter(|(known, _)| known == version).map(|(_, cluster)| cluster.clone());
    if let Some(cluster) = known {
        return Ok(cluster);
    }
    let data = secret.get("data").and_then(|data| data.get(&of.key)).and_then(Value::as_str);
    let wrong = |why: &str| format!("secret {}/{}: {}: {why}", of.namespace, of.secret, of.key);
    let data = data.ok_or_else(|| wrong("there is no such key"))?;
    let text = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(|| wrong("it is no text"))?;
    let cluster = connect_by_text(&text).await.map_err(|why| wrong(&why))?.heeding();
    lock(clusters).insert(of.clone(), (version.to_owned(), cluster.clone()));
    Ok(cluster)
}

/// Looks up objects, a page of them after the other. Nobody waits here: there are others to ask, and all are asked again.
async fn objects(cluster: &Cluster, question: &RollQuestion, answers: &mut RollAnswers) -> Result<(), CallError> {
    let all = asked_for(cluster, question).await?;
    let labels = match &question.wanted {
        WantedObjects::Named(name) => {
            answers.saw(question, named(cluster, &format!("{all}/{name}")).await?.as_slice());
            return Ok(());
        }
        WantedObjects::Labelled(labels) if !labels.is_empty() => format!("&labelSelector={}", quoted(labels)),
        // What else there is, is asked within a pass.
        _ => String::new(),
    };
    let mut next = String::new();
    loop {
        let mut list = cluster.get(&format!("{all}?limit={PAGE}{labels}{next}")).await?;
        let items = list.get_mut("items").map(Value::take);
        answers.saw(question, items.as_ref().and_then(Value::as_array).map_or(&[], Vec::as_slice));
        let Some(token) = next_page(&list) else { return Ok(()) };
        next = format!("&continue={}", quoted(&token));
    }
}

/// What was said, and what can be done where that is a matter of rights.
fn said(error: &CallError) -> String {
    match error.code() {
        Some(401) => format!("{error}: its credentials are dead: put others into the Secret"),
        _ if error.is_of_missing_rights() => format!("{error}: {RIGHTS}"),
        _ => error.to_string(),
    }
}

fn late() -> String {
    format!("no answer within {} s", LONGEST.as_secs())
}

fn lock(clusters: &OtherClusters) -> std::sync::MutexGuard<'_, BTreeMap<OtherCluster, (String, Cluster)>> {
    // Whoever panicked has left a map that is whole.
    clusters.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long an answer counts: another cluster is not asked more often.
const AGAIN: Duration = Duration::from_secs(30);

/// How long somebody may take who is asked: who answers at all does so in a second.
const LONGEST: Duration = Duration::from_secs(10);

/// How many are asked at a time. Each that hangs takes a place for ten seconds.
const AT_ONCE: usize = 16;

/// Objects of a page: a Node has some 10 KiB.
const PAGE: u32 = 200;
