//! The write of one object.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;

use super::aim::{Listed, ObjectChange};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::patience::Patience;

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

/// Writes an object, and tries again while that may help. Returns how long it took, where it succeeded or failed at
/// once.
pub(super) async fn write(
    cluster: &Cluster,
    path: &str,
    listed: &Listed,
    patience: &Patience,
) -> (Written, Option<Duration>) {
    let ((form, patch), mut tried) = (listed.change.patch(), false);
    loop {
        let asked = Instant::now();
        let answer = cluster.patch(path, form, &patch, Extent::Metadata).await;
        let took = (!tried).then(|| asked.elapsed());
        let written = match answer {
            Ok(object) => judged(listed, &object),
            Err(error) => match (error.code(), patience.pause(&error)) {
                (Some(404), _) => Written::Gone,
                (Some(409), _) => Written::Raced,
                (_, Some(pause)) => {
                    tried = true;
                    sleep(pause).await;
                    continue;
                }
                (_, None) => refused(cluster, path, &listed.change, &error).await,
            },
        };
        if tried && !matches!(written, Written::Failed(_)) {
            patience.is_over();
        }
        return (written, took);
    }
}

fn judged(listed: &Listed, answer: &Value) -> Written {
    if let Some(problem) = listed.change.is_undone_in(answer) {
        return Written::Failed(problem.to_owned());
    }
    let version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    if version == Some(&listed.version) { Written::Same } else { Written::Rewritten }
}

/// Why an object could not be written. The API server does not say which operation of a patch has failed, so whether
/// what it relies on is still there is asked.
async fn refused(cluster: &Cluster, path: &str, change: &ObjectChange, error: &CallError) -> Written {
    let message = error.message();
    let reason = error.hint().map_or_else(|| message.clone(), |hint| format!("{message}: {hint}"));
    if matches!(change, ObjectChange::AsItIs) {
        return Written::Failed(reason);
    }
    match cluster.read(path, Extent::Metadata).await {
        Ok(now) if change.is_overtaken_in(&now) => Written::Raced,
        Err(gone) if gone.code() == Some(404) => Written::Gone,
        _ => Written::Failed(reason),
    }
}
