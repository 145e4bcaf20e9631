//! The write of one object.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;

use super::object_patch::{store_again, translation, without};
use super::target::{Listed, ObjectChange};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::crd_state::CrdState;
use crate::ownership::ObjectConversion;
use crate::pages::items;
use crate::retry_budget::RetryBudget;

/// The outcome of a write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Written {
    /// Stored again.
    Rewritten,
    /// Already in the desired state, unchanged.
    Same,
    /// Deleted. A recreated object is in the storage version.
    Deleted,
    /// Conflict with another writer. The next pass observes the result.
    Raced,
    /// Failed, with the reason.
    Failed(String),
}

/// Shared state of all writes of a run.
#[derive(Clone)]
pub(super) struct MigrationWriter {
    pub(super) cluster: Cluster,
    pub(super) crd: Arc<CrdState>,
    pub(super) conversion: Option<ObjectConversion>,
    pub(super) patience: RetryBudget,
}

impl MigrationWriter {
    /// Writes an object, with retries. Returns the duration of a first attempt.
    pub(super) async fn write(&self, listed: &Listed) -> (Written, Option<Duration>) {
        let (mut tried, mut is_away) = (false, false);
        loop {
            let started = Instant::now();
            let answer = self.send(listed).await;
            let took = (!tried).then(|| started.elapsed());
            let written = match answer {
                Ok(None) => Written::Deleted,
                Ok(Some(object)) => judged(listed, &object),
                Err(error) => match (error.code(), self.patience.pause(&error)) {
                    (Some(404), _) => Written::Deleted,
                    (Some(409), _) => self.overtaken(listed).await,
                    (_, Some(pause)) => {
                        tried = true;
                        sleep(pause).await;
                        continue;
                    }
                    (_, None) => {
                        is_away = error.passes();
                        self.refused(listed, &error).await
                    }
                },
            };
            if tried && !is_away {
                self.patience.is_over();
            }
            return (written, took);
        }
    }

    /// The write. Returns the object, or `None` if it does not exist.
    async fn send(&self, listed: &Listed) -> Result<Option<Value>, CallError> {
        let (form, patch) = match &listed.change {
            ObjectChange::AsItIs { is_managed } => store_again(listed, *is_managed, &self.crd),
            ObjectChange::Translated { kept, needs_object: false } => (PatchForm::Json, without(listed, kept.as_ref())),
            ObjectChange::Translated { .. } => return self.translate(listed).await,
        };
        match self.patch(listed, form, &patch).await {
            // The API server cannot compute field ownership: an entry refers to an unknown version or field. After a
            // translation it can.
            Err(error) if form as u8 == PatchForm::Apply as u8 && is_about_ownership(&error) => {
                self.translate(listed).await
            }
            answer => answer.map(Some),
        }
    }

    async fn translate(&self, listed: &Listed) -> Result<Option<Value>, CallError> {
        let Some(object) = self.read(listed).await? else { return Ok(None) };
        if object.pointer("/metadata/uid").and_then(Value::as_str) != Some(&listed.uid) {
            return Ok(None);
        }
        let patch = translation(listed, &object, &self.crd, self.conversion.as_ref());
        self.patch(listed, PatchForm::Json, &patch).await.map(Some)
    }

    /// The whole object, by a list: the permission to list is sufficient.
    async fn read(&self, listed: &Listed) -> Result<Option<Value>, CallError> {
        let crd = &self.crd;
        let collection = match listed.namespace.as_deref() {
            Some(namespace) => {
                format!("/apis/{}/{}/namespaces/{namespace}/{}", crd.group(), crd.storage(), crd.plural())
            }
            None => crd.collection(crd.storage()),
        };
        let path = format!("{collection}?fieldSelector=metadata.name%3D{}", listed.name);
        let list = self.cluster.read(&path, Extent::Objects).await?;
        Ok(items(&list).next().cloned().map(|mut object| {
            if let Some(members) = object.as_object_mut() {
                members.insert("apiVersion".to_owned(), format!("{}/{}", crd.group(), crd.storage()).into());
                members.insert("kind".to_owned(), crd.kind().into());
            }
            object
        }))
    }

    async fn patch(&self, listed: &Listed, form: PatchForm, patch: &Value) -> Result<Value, CallError> {
        let path = format!("{}?fieldManager={MANAGER}", self.path(listed));
        self.cluster.patch(&path, form, patch, Extent::Metadata).await
    }

    fn path(&self, listed: &Listed) -> String {
        self.crd.object(self.crd.storage(), listed.namespace.as_deref(), &listed.name)
    }

    /// The outcome of a conflict: another client wrote or deleted the object.
    async fn overtaken(&self, listed: &Listed) -> Written {
        match self.cluster.read(&self.path(listed), Extent::Metadata).await {
            Err(error) if error.code() == Some(404) => Written::Deleted,
            _ => Written::Raced,
        }
    }

    /// The outcome of a refused write. The API server's error does not identify the failed operation, so the object is
    /// read to check preconditions.
    async fn refused(&self, listed: &Listed, error: &CallError) -> Written {
        let message = error.message();
        let reason = error.hint().map_or_else(|| message.clone(), |hint| format!("{message}: {hint}"));
        match self.cluster.read(&self.path(listed), Extent::Metadata).await {
            Ok(now) if now.pointer("/metadata/uid").and_then(Value::as_str) != Some(&listed.uid) => Written::Raced,
            Ok(now) if listed.change.is_overtaken_in(&now) => Written::Raced,
            Err(error) if error.code() == Some(404) => Written::Deleted,
            _ => Written::Failed(reason),
        }
    }
}

fn judged(listed: &Listed, answer: &Value) -> Written {
    if let Some(problem) = listed.change.is_undone_in(answer) {
        return Written::Failed(problem.to_owned());
    }
    let version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    if version == Some(&listed.version) { Written::Same } else { Written::Rewritten }
}

/// True if the API server could not compute field ownership, for which no specific code exists.
fn is_about_ownership(error: &CallError) -> bool {
    error.code() == Some(500) && !error.passes()
}

/// The field manager of these writes. It owns no fields, since it applies none.
const MANAGER: &str = "pointsman-migrate";
