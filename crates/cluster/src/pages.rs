//! A collection, page by page, also while the API server is busy or away for a moment.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;

use super::call_error::CallError;
use super::cluster::{Cluster, Extent};

/// One page of a collection, without the objects' contents: the first one, or the one that `next` leads to. Where it
/// has to be asked for again, `waits` is told.
pub(crate) async fn page(
    cluster: &Cluster,
    collection: &str,
    limit: u32,
    next: Option<&str>,
    waits: &mut dyn FnMut(CallError, Duration),
) -> Result<Value, CallError> {
    let mut token = next.map(str::to_owned);
    let began = Instant::now();
    loop {
        let more = token.as_ref().map(|token| format!("&continue={token}")).unwrap_or_default();
        let error = match cluster.read(&format!("{collection}?limit={limit}{more}"), Extent::MetadataOfAll).await {
            Ok(list) => return Ok(list),
            Err(error) => error,
        };
        match &error {
            // The list goes on as of now: what is written meanwhile is of no age that anybody looks for.
            CallError::Refused { code: 410, next: Some(next), .. } => token = Some(next.clone()),
            error if error.passes() && began.elapsed() < PATIENCE => {
                let pause = pause(error, began);
                waits(error.clone(), pause);
                sleep(pause).await;
            }
            _ => return Err(error),
        }
    }
}

/// The objects of a page.
pub(crate) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.get("items").and_then(Value::as_array).into_iter().flatten()
}

/// What leads to the page behind this one.
pub(crate) fn next_page(list: &Value) -> Option<String> {
    let token = list.pointer("/metadata/continue").and_then(Value::as_str);
    token.filter(|token| !token.is_empty()).map(str::to_owned)
}

/// As long as the API server asks for; without its word a second, and longer the longer it has been away.
pub(crate) fn pause(error: &CallError, began: Instant) -> Duration {
    let longer = (began.elapsed() / 2).clamp(SHORTEST, LONGEST);
    error.retry_after().unwrap_or(longer).clamp(SHORTEST, PATIENCE)
}

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(15);

/// A control plane of one node restarts, and elects leaders, within this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
