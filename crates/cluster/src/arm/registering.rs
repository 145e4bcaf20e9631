//! What is registered once a CRD is armed: webhook configurations and policies, which go again where they do not work.

use serde_json::Value;

use super::options::ArmEvent;
use super::replacing::replacing_webhooks;
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

    /// Applies these, in this order. What conflicts was taken over by word, or was refused before.
    pub(super) async fn apply(
        &mut self,
        cluster: &Cluster,
        documents: &[Value],
        say: &mut dyn FnMut(ArmEvent),
    ) -> Result<(), CallError> {
        for ours in documents {
            let path = cluster.document_path(ours).await?;
            let found = cluster.find(&path).await?;
            let replaced = match found.as_ref().and_then(|found| replacing_webhooks(found, ours)) {
                Some(patch) => Some(cluster.patch(&path, PatchForm::Merge, &patch, Extent::Objects).await?),
                None => None,
            };
            let (applied, said) = match cluster.apply(ours, true).await {
                Ok(applied) => (Some(applied), Ok(())),
                // What was replaced is undone all the same.
                Err(error) => (replaced, Err(error)),
            };
            self.0.extend(applied.map(|applied| AppliedDocument { path, found, applied, ours: ours.clone() }));
            said?;
            say(ArmEvent::Applied { document: title(ours) });
        }
        Ok(())
    }

    /// Makes all of it what it was, the last one first. Says what became of it.
    pub(super) async fn undo(&self, cluster: &Cluster) -> String {
        for one in self.0.iter().rev() {
            let undone = match &one.found {
                None => cluster.delete(&one.path).await.map(|()| true),
                Some(found) if found.pointer(GENERATION) == one.applied.pointer(GENERATION) => continue,
                Some(found) => undo(cluster, &one.path, found, &one.applied, &one.ours).await,
            };
            match undone {
                Ok(true) => {}
                Ok(false) => return format!("; {} was changed by somebody else since, and stays", title(&one.ours)),
                Err(error) => return format!("; {} could not be put back: {error}", title(&one.ours)),
            }
        }
        match self.0.is_empty() {
            true => String::new(),
            false => "; so is what was registered".to_owned(),
        }
    }
}

const GENERATION: &str = "/metadata/generation";
