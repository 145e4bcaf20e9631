//! Webhook configurations and policies that `enable` applies, and restores after a failure.

use serde_json::Value;

use super::bundle::remarks;
use super::client_config::ClientConfigChange;
use super::options::EnableEvent;
use super::restore::undo;
use crate::call_error::CallError;
use crate::cluster::{Cluster, DRY, Extent, MANAGER, PatchForm, title};

/// The applied documents.
#[derive(Default)]
pub(super) struct Registering(Vec<AppliedDocument>);

struct AppliedDocument {
    path: String,
    /// The earlier document.
    found: Option<Value>,
    /// The document in the API server's response.
    applied: Value,
    ours: Value,
    /// True if a webhook address of another client was overridden.
    overruled: bool,
}

/// The result for a document.
struct Put {
    /// The document in the API server's response, also after a partial success, which is reverted too.
    applied: Option<Value>,
    /// The earlier document, if read again.
    before: Option<Value>,
    overruled: bool,
    result: Result<(), CallError>,
}

/// Webhooks whose address was changed.
struct Led {
    before: Value,
    now: Value,
    overruled: bool,
}

impl Registering {
    /// Checks the permissions to read and delete the documents.
    pub(super) async fn may(cluster: &Cluster, documents: &[Value]) -> Result<(), CallError> {
        for ours in documents {
            let path = cluster.document_path(ours).await?;
            if cluster.find(&path).await?.is_none() {
                cluster.delete(&format!("{path}{DRY}")).await?;
            }
        }
        Ok(())
    }

    /// Applies the documents in order. Conflicts were accepted or refused earlier. Webhook addresses of other clients
    /// are overridden only with `force`, since one may be new.
    pub(super) async fn apply(
        &mut self,
        cluster: &Cluster,
        documents: &[Value],
        force: bool,
        report: &mut dyn FnMut(EnableEvent),
    ) -> Result<(), CallError> {
        for ours in documents {
            let path = cluster.document_path(ours).await?;
            let found = cluster.find(&path).await?;
            found.iter().flat_map(|found| remarks(found, ours)).for_each(&mut *report);
            let Put { applied, before, overruled, result } = put(cluster, &path, ours, force).await;
            let found = before.or(found);
            let ours_too = ours.clone();
            self.0.extend(applied.map(|applied| AppliedDocument { path, found, applied, ours: ours_too, overruled }));
            result?;
            report(EnableEvent::Applied { document: title(ours) });
        }
        Ok(())
    }

    /// Restores all documents, last one first. Returns the result as text.
    pub(super) async fn undo(&self, cluster: &Cluster) -> String {
        let mut stays = String::new();
        for one in self.0.iter().rev() {
            let undone = match &one.found {
                None => cluster.delete(&one.path).await.map(|_| true),
                Some(found) if found.pointer(GENERATION) == one.applied.pointer(GENERATION) => continue,
                Some(found) => {
                    // A restored value of another client must not be owned by pointsman: the next run requires
                    // confirmation again.
                    let manager = if one.overruled { PUT_BACK } else { MANAGER };
                    undo(cluster, &one.path, found, &one.applied, &one.ours, manager).await
                }
            };
            match undone {
                Ok(true) => {}
                Ok(false) => {
                    stays.push_str(&format!("; {} was changed by another client since, and stays", title(&one.ours)));
                }
                Err(error) => stays.push_str(&format!("; {} could not be restored: {error}", title(&one.ours))),
            }
        }
        match (self.0.is_empty(), stays.is_empty()) {
            (true, _) => String::new(),
            (false, true) => "; the webhook configurations are restored as well".to_owned(),
            (false, false) => stays,
        }
    }
}

/// Applies one document.
async fn put(cluster: &Cluster, path: &str, ours: &Value, force: bool) -> Put {
    let (error, led) = match cluster.apply(ours, true).await {
        Ok(applied) => return Put { applied: Some(applied), before: None, overruled: false, result: Ok(()) },
        Err(error) if error.code() == Some(422) => match lead(cluster, path, ours, force).await {
            Ok(led) => (error, led),
            Err(error) => (error, None),
        },
        Err(error) => (error, None),
    };
    let Some(Led { before, now, overruled }) = led else {
        return Put { applied: None, before: None, overruled: false, result: Err(error) };
    };
    let (applied, result) = match cluster.apply(ours, true).await {
        Ok(applied) => (applied, Ok(())),
        Err(error) => (now, Err(error)),
    };
    Put { applied: Some(applied), before: Some(before), overruled, result }
}

/// Changes webhooks with the other form of address; `None` without such webhooks, or without permission to override.
async fn lead(cluster: &Cluster, path: &str, ours: &Value, force: bool) -> Result<Option<Led>, CallError> {
    let mut sent: Option<(Value, bool, CallError)> = None;
    for _ in 0..TRIES {
        let Some(there) = cluster.find(path).await? else { return Ok(None) };
        let Some(leading) = ClientConfigChange::of(&there, ours) else {
            // Done earlier, without a received response.
            return Ok(sent.map(|(before, overruled, _)| Led { before, now: there, overruled }));
        };
        let overruled = !leading.theirs.is_empty();
        if overruled && !force {
            return Ok(None);
        }
        match cluster.patch(path, PatchForm::Merge, &leading.patch, Extent::Objects).await {
            Ok(now) => return Ok(Some(Led { before: there, now, overruled })),
            Err(error) if error.code() == Some(409) => sent = Some((there, overruled, error)),
            Err(error) => return Err(error),
        }
    }
    sent.map_or(Ok(None), |(_, _, error)| Err(error))
}

/// Injectors write a configuration occasionally.
const TRIES: u16 = 5;
/// The field manager for restored values of other clients.
const PUT_BACK: &str = "pointsman-put-back";
const GENERATION: &str = "/metadata/generation";
