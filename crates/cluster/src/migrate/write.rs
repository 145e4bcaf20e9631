//! The write of one object.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;

use super::object_patch::{stored_anew, translation, without};
use super::target::{Listed, ObjectChange};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::crd_state::CrdState;
use crate::ownership::ObjectConversion;
use crate::pages::items;
use crate::retry_budget::RetryBudget;

/// What came of a write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Written {
    /// It is stored anew.
    Rewritten,
    /// It was as it should be, and was left as it was.
    Same,
    /// It was deleted. Made anew, it was stored in the storage version.
    Gone,
    /// It was written by others at the same time. The next look at everything sees what it is now.
    Raced,
    /// Why it could not be written.
    Failed(String),
}

/// What all writes of a run share.
#[derive(Clone)]
pub(super) struct MigrationWriter {
    pub(super) cluster: Cluster,
    pub(super) crd: Arc<CrdState>,
    pub(super) conversion: Option<ObjectConversion>,
    pub(super) patience: RetryBudget,
}

impl MigrationWriter {
    /// Writes an object, and tries again while that may help. Returns how long it took, where it succeeded or failed at
    /// once.
    pub(super) async fn write(&self, listed: &Listed) -> (Written, Option<Duration>) {
        let mut tried = false;
        loop {
            let asked = Instant::now();
            let answer = self.ask(listed).await;
            let took = (!tried).then(|| asked.elapsed());
            let written = match answer {
                Ok(None) => Written::Gone,
                Ok(Some(object)) => judged(listed, &object),
                Err(error) => match (error.code(), self.patience.pause(&error)) {
                    (Some(404), _) => Written::Gone,
                    (Some(409), _) => self.overtaken(listed).await,
                    (_, Some(pause)) => {
                        tried = true;
                        sleep(pause).await;
                        continue;
                    }
                    (_, None) => self.refused(listed, &error).await,
                },
            };
            if tried && !matches!(written, Written::Failed(_)) {
                self.patience.is_over();
            }
            return (written, took);
        }
    }

    /// The write itself. Returns the object, or nothing where there is none.
    async fn ask(&self, listed: &Listed) -> Result<Option<Value>, CallError> {
        let (form, patch) = match &listed.change {
            ObjectChange::AsItIs { is_managed } => stored_anew(listed, *is_managed, &self.crd),
            ObjectChange::Translated { kept, needs_object: false } => (PatchForm::Json, without(listed, kept.as_ref())),
            ObjectChange::Translated { .. } => return self.translate(listed).await,
        };
        match self.patch(listed, form, &patch).await {
            // The API server cannot tell who owns what: an entry names a version that it knows no more, or a field that
            // its schema has not. Translated, it can.
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

    /// All of the object. It is listed, so that the right to list is enough.
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

    /// What a conflict means: somebody has written the object, or deleted it.
    async fn overtaken(&self, listed: &Listed) -> Written {
        match self.cluster.read(&self.path(listed), Extent::Metadata).await {
            Err(gone) if gone.code() == Some(404) => Written::Gone,
            _ => Written::Raced,
        }
    }

    /// Why an object could not be written. The API server does not say which operation of a patch has failed, so
    /// whether what it relies on is still there is asked.
    async fn refused(&self, listed: &Listed, error: &CallError) -> Written {
        let message = error.message();
        let reason = error.hint().map_or_else(|| message.clone(), |hint| format!("{message}: {hint}"));
        match self.cluster.read(&self.path(listed), Extent::Metadata).await {
            Ok(now) if now.pointer("/metadata/uid").and_then(Value::as_str) != Some(&listed.uid) => Written::Raced,
            Ok(now) if listed.change.is_overtaken_in(&now) => Written::Raced,
            Err(gone) if gone.code() == Some(404) => Written::Gone,
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

/// Whether the API server could not tell who owns what. It has no code of its own for that.
fn is_about_ownership(error: &CallError) -> bool {
    error.code() == Some(500) && !error.passes()
}

/// The field manager of these writes. It owns nothing: what it applies has no field.
const MANAGER: &str = "pointsman-migrate";
