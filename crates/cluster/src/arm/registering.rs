//! What is registered once a CRD is armed: webhook configurations and policies, which go again where they do not work.

use serde_json::Value;

use super::leading::Leading;
use super::options::ArmEvent;
use super::undone::undo;
use crate::call_error::CallError;
use crate::cluster::{Cluster, DRY, Extent, PatchForm, title};

/// What was applied.
#[derive(Default)]
pub(super) struct Registering(Vec<AppliedDocument>);

struct AppliedDocument {
    path: String,
    /// What stood there before.
    found: Option<Value>,
    /// What the API server made of it.
    applied: Value,
    ours: Value,
}

impl Registering {
    /// Whether what is applied may be looked at, and taken away again.
    pub(super) async fn may(cluster: &Cluster, documents: &[Value]) -> Result<(), CallError> {
        for ours in documents {
            let path = cluster.document_path(ours).await?;
            if cluster.find(&path).await?.is_none() {
                cluster.delete(&format!("{path}{DRY}")).await?;
            }
        }
        Ok(())
    }

    /// Applies these, in this order. What conflicts was taken over by word, or was refused before. Addresses that
    /// others gave a webhook are taken away by `force` alone: somebody may have written one since.
    pub(super) async fn apply(
        &mut self,
        cluster: &Cluster,
        documents: &[Value],
        force: bool,
        say: &mut dyn FnMut(ArmEvent),
    ) -> Result<(), CallError> {
        for ours in documents {
            let path = cluster.document_path(ours).await?;
            let found = cluster.find(&path).await?;
            let (applied, said) = put(cluster, &path, ours, force).await;
            self.0.extend(applied.map(|applied| AppliedDocument { path, found, applied, ours: ours.clone() }));
            said?;
            say(ArmEvent::Applied { document: title(ours) });
        }
        Ok(())
    }

    /// Makes all of it what it was, the last one first. Says what became of it.
    pub(super) async fn undo(&self, cluster: &Cluster) -> String {
        let mut stays = String::new();
        for one in self.0.iter().rev() {
            let undone = match &one.found {
                None => cluster.delete(&one.path).await.map(|()| true),
                Some(found) if found.pointer(GENERATION) == one.applied.pointer(GENERATION) => continue,
                Some(found) => undo(cluster, &one.path, found, &one.applied, &one.ours).await,
            };
            match undone {
                Ok(true) => {}
                Ok(false) => {
                    stays.push_str(&format!("; {} was changed by somebody else since, and stays", title(&one.ours)));
                }
                Err(error) => stays.push_str(&format!("; {} could not be put back: {error}", title(&one.ours))),
            }
        }
        match (self.0.is_empty(), stays.is_empty()) {
            (true, _) => String::new(),
            (false, true) => "; so is what was registered".to_owned(),
            (false, false) => stays,
        }
    }
}

/// Applies one document. Returns what the API server made of it, also where it came half way only: that is undone all
/// the same.
async fn put(cluster: &Cluster, path: &str, ours: &Value, force: bool) -> (Option<Value>, Result<(), CallError>) {
    let said = |answer: Result<Value, CallError>, half: Option<Value>| match answer {
        Ok(applied) => (Some(applied), Ok(())),
        Err(error) => (half, Err(error)),
    };
    match cluster.apply(ours, true).await {
        Err(error) if error.code() == Some(422) => match lead(cluster, path, ours, force).await {
            Ok(Some(led)) => said(cluster.apply(ours, true).await, Some(led)),
            Ok(None) => said(Err(error), None),
            Err(error) => said(Err(error), None),
        },
        answer => said(answer, None),
    }
}

/// Leads webhooks here that have the other address. Returns what became of the configuration, or nothing where there is
/// no such webhook, or it is not to be taken.
async fn lead(cluster: &Cluster, path: &str, ours: &Value, force: bool) -> Result<Option<Value>, CallError> {
    let mut stale = None;
    for _ in 0..TRIES {
        let Some(there) = cluster.find(path).await? else { return Ok(None) };
        let Some(leading) = Leading::of(&there, ours) else {
            // One that was done, and not heard.
            return Ok(stale.is_some().then_some(there));
        };
        if !force && !leading.theirs.is_empty() {
            return Ok(None);
        }
        match cluster.patch(path, PatchForm::Merge, &leading.patch, Extent::Objects).await {
            Err(error) if error.code() == Some(409) => stale = Some(error),
            answer => return answer.map(Some),
        }
    }
    stale.map_or(Ok(None), Err)
}

/// Injectors of authorities write a configuration now and then, and not all the time.
const TRIES: u16 = 5;
const GENERATION: &str = "/metadata/generation";
