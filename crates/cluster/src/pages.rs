//! A collection, page by page, also while the API server is busy or away for a moment.

use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::call_error::CallError;
use super::cluster::{Cluster, Extent};
use super::patience::Patience;

/// One page of a collection, the first one or the one that `next` leads to, with as much of each object as `extent`
/// says. Where it has to be asked for again, `waits` is told.
pub(crate) async fn page(
    cluster: &Cluster,
    collection: &str,
    extent: Extent,
    limit: u32,
    next: Option<&str>,
    waits: &mut dyn FnMut(CallError, Duration),
) -> Result<Value, CallError> {
    let (mut token, patience) = (next.map(str::to_owned), Patience::default());
    loop {
        let more = token.as_ref().map(|token| format!("&continue={token}")).unwrap_or_default();
        let error = match cluster.read(&format!("{collection}?limit={limit}{more}"), extent).await {
            Ok(list) => return Ok(list),
            Err(error) => error,
        };
        // The list goes on as of now: what is written meanwhile is of no age that anybody looks for.
        if let CallError::Refused { code: 410, next: Some(next), .. } = &error {
            token = Some(next.clone());
            continue;
        }
        // A webhook that nobody reaches is an answer: some who list look for it.
        let pause = if error.is_of_a_webhook() { None } else { patience.pause(&error) };
        let Some(pause) = pause else { return Err(error) };
        waits(error, pause);
        sleep(pause).await;
    }
}

/// The objects of a page.
pub(crate) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.get("items").and_then(Value::as_array).into_iter().flatten()
}

/// The same, out of the page: they may be large.
pub(crate) fn taken(list: &mut Value) -> Vec<Value> {
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// What leads to the page behind this one.
pub(crate) fn next_page(list: &Value) -> Option<String> {
    let token = list.pointer("/metadata/continue").and_then(Value::as_str);
    token.filter(|token| !token.is_empty()).map(str::to_owned)
}
