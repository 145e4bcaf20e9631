//! Webhook configurations and policies that `enable` registers, and removes again if they fail.

use serde_json::Value;

use super::bundle::remarks;
use super::client_config::ClientConfigChange;
use super::options::EnableEvent;
use super::restore::undo;
use crate::call_error::CallError;
use crate::cluster::{Cluster, DRY, Extent, MANAGER, PatchForm, title};

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
    /// Somebody else led a webhook of it elsewhere, and was overruled.
    overruled: bool,
}

/// What became of a document.
struct Put {
    /// What the API server made of it, also where it came half way only: that is undone all the same.
    applied: Option<Value>,
    /// What stood there before, where that was seen anew.
    before: Option<Value>,
    overruled: bool,
    said: Result<(), CallError>,
}

/// Webhooks that were led here.
struct Led {
    before: Value,
    now: Value,
    overruled: bool,
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
        say: &mut dyn FnMut(EnableEvent),
    ) -> Result<(), CallError> {
        for ours in documents {
            let path = cluster.document_path(ours).await?;
            let found = cluster.find(&path).await?;
            found.iter().flat_map(|found| remarks(found, ours)).for_each(&mut *say);
            let Put { applied, before, overruled, said } = put(cluster, &path, ours, force).await;
            let found = before.or(found);
            let ours_too = ours.clone();
            self.0.extend(applied.map(|applied| AppliedDocument { path, found, applied, ours: ours_too, overruled }));
            said?;
            say(EnableEvent::Applied { document: title(ours) });
        }
        Ok(())
    }

    /// Makes all of it what it was, the last one first. Says what became of it.
    pub(super) async fn undo(&self, cluster: &Cluster) -> String {
        let mut stays = String::new();
        for one in self.0.iter().rev() {
            let undone = match &one.found {
                None => cluster.delete(&one.path).await.map(|_| true),
                Some(found) if found.pointer(GENERATION) == one.applied.pointer(GENERATION) => continue,
                Some(found) => {
                    // What somebody else had set is not ours after that: whoever enables again is asked again.
                    let manager = if one.overruled { PUT_BACK } else { MANAGER };
                    undo(cluster, &one.path, found, &one.applied, &one.ours, manager).await
                }
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

/// Applies one document.
async fn put(cluster: &Cluster, path: &str, ours: &Value, force: bool) -> Put {
    let (error, led) = match cluster.apply(ours, true).await {
        Ok(applied) => return Put { applied: Some(applied), before: None, overruled: false, said: Ok(()) },
        Err(error) if error.code() == Some(422) => match lead(cluster, path, ours, force).await {
            Ok(led) => (error, led),
            Err(error) => (error, None),
        },
        Err(error) => (error, None),
    };
    let Some(Led { before, now, overruled }) = led else {
        return Put { applied: None, before: None, overruled: false, said: Err(error) };
    };
    let (applied, said) = match cluster.apply(ours, true).await {
        Ok(applied) => (applied, Ok(())),
        Err(error) => (now, Err(error)),
    };
    Put { applied: Some(applied), before: Some(before), overruled, said }
}

/// Leads webhooks here that have the other address; nothing where there is none, or it is not to be taken.
async fn lead(cluster: &Cluster, path: &str, ours: &Value, force: bool) -> Result<Option<Led>, CallError> {
    let mut sent: Option<(Value, bool, CallError)> = None;
    for _ in 0..TRIES {
        let Some(there) = cluster.find(path).await? else { return Ok(None) };
        let Some(leading) = ClientConfigChange::of(&there, ours) else {
            // One that was done, and not heard.
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

/// Injectors of authorities write a configuration now and then, and not all the time.
const TRIES: u16 = 5;
/// The field manager of what is put back although somebody else had set it.
const PUT_BACK: &str = "pointsman-put-back";
const GENERATION: &str = "/metadata/generation";
