//! Lists a collection page by page, with retries during outages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pointsman_rollout::quoted_in_address;
use serde_json::Value;
use tokio::time::sleep;

use super::call_error::CallError;
use super::cluster::{Cluster, Extent};
use super::retry_budget::RetryBudget;

/// A collection, and how it is listed.
pub(crate) struct Pages<'p> {
    cluster: &'p Cluster,
    collection: String,
    /// Query parameters.
    labels: String,
    extent: Extent,
    size: PageSize,
    patience: RetryBudget,
    waits_out: RetryPolicy,
}

/// The failures that a list retries; others are returned.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum RetryPolicy {
    /// An API server that is down or overloaded. A failing backend, such as a webhook, is returned.
    ApiServer,
    /// Any failing server, except for unreachable webhooks, which some callers detect.
    Servers,
    /// Webhooks too.
    Webhooks,
}

impl<'p> Pages<'p> {
    /// Pages of at most `size` objects, with the part selected by `extent`. Retries [`RetryPolicy::Servers`].
    pub(crate) fn new(cluster: &'p Cluster, collection: String, extent: Extent, size: impl Into<PageSize>) -> Self {
        let (size, patience) = (size.into(), RetryBudget::default());
        let labels = String::new();
        Self { cluster, collection, labels, extent, size, patience, waits_out: RetryPolicy::Servers }
    }

    /// Restricts to objects with labels, in the syntax of `kubectl -l`.
    pub(crate) fn labelled(self, labels: &str) -> Self {
        let labels =
            if labels.is_empty() { String::new() } else { format!("&labelSelector={}", quoted_in_address(labels)) };
        Self { labels, ..self }
    }

    /// Changes the retries.
    pub(crate) fn waiting_out(self, waits_out: RetryPolicy) -> Self {
        Self { waits_out, ..self }
    }

    /// Retries webhooks too, with a time limit shared by all calls of a run.
    pub(crate) fn with_patience(self, patience: &RetryBudget) -> Self {
        Self { patience: patience.clone(), waits_out: RetryPolicy::Webhooks, ..self }
    }

    /// One page: the first one, or the one of the token `next`. Calls `waits` before each retry, which may abort.
    pub(crate) async fn page<E: From<CallError>>(
        &self,
        next: Option<&str>,
        waits: &mut impl AsyncFnMut(CallError, Duration) -> Result<(), E>,
    ) -> Result<Value, E> {
        let (mut token, mut tried) = (next.map(str::to_owned), false);
        loop {
            let more = token.as_ref().map(|token| format!("&continue={token}")).unwrap_or_default();
            let path = format!("{}?limit={}{}{more}", self.collection, self.size.limit(), self.labels);
            let error = match self.cluster.read(&path, self.extent).await {
                Ok(list) => {
                    if tried {
                        self.patience.is_over();
                    }
                    self.size.learn(&list);
                    return Ok(list);
                }
                Err(error) => error,
            };
            // The list continues at a newer revision, which is acceptable to all callers.
            if let CallError::Refused { code: 410, next: Some(next), .. } = &error {
                token = Some(next.clone());
                continue;
            }
            let fails = match &error {
                error if error.is_of_a_webhook() => RetryPolicy::Webhooks,
                error if error.code().is_some_and(|code| code >= 500) => RetryPolicy::Servers,
                _ => RetryPolicy::ApiServer,
            };
            if fails > RetryPolicy::ApiServer {
                self.size.shrink();
            }
            // A cluster with outage retries has waited already.
            let is_answer = self.cluster.waits().is_some() || self.waits_out < fails;
            let pause = if is_answer { None } else { self.patience.pause(&error) };
            let Some(pause) = pause else { return Err(error.into()) };
            tried = true;
            waits(error, pause).await?;
            sleep(pause).await;
        }
    }

    /// All pages in sequence. Calls `waits` before each retry.
    pub(crate) async fn all(
        &self,
        waits: &mut dyn FnMut(CallError, Duration),
        take: &mut dyn FnMut(Value),
    ) -> Result<(), CallError> {
        let mut next: Option<String> = None;
        let mut waits = async |error, pause| {
            waits(error, pause);
            Ok::<(), CallError>(())
        };
        loop {
            let list = self.page(next.as_deref(), &mut waits).await?;
            next = next_page(&list);
            take(list);
            if next.is_none() {
                return Ok(());
            }
        }
    }
}

/// The number of objects per page: small at first, then at most twice the last number. Annotations and managed fields
/// of one object may be a megabyte, and a Job has 256 MiB. Halved by a failure, since each object of a page may need a
/// call of a webhook: with a webhook that fails now and then, no page of 500 calls would ever succeed.
#[derive(Clone, Debug)]
pub(crate) struct PageSize {
    most: u32,
    limit: Arc<AtomicU32>,
}

impl PageSize {
    pub(crate) fn new(most: u32) -> Self {
        Self { most, limit: Arc::new(AtomicU32::new(most.min(FIRST))) }
    }

    fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Adapts to the size of the last page.
    fn learn(&self, list: &Value) {
        let objects = items(list).count().max(1);
        let of_each = (weight(list) / objects).max(1);
        let fits = u32::try_from(WEIGHT / of_each).unwrap_or(u32::MAX);
        let grown = self.limit().saturating_mul(2).min(self.most);
        self.limit.store(fits.clamp(1, grown), Ordering::Relaxed);
    }

    /// Adapts to a failed page.
    fn shrink(&self) {
        self.limit.store((self.limit() / 2).max(1), Ordering::Relaxed);
    }
}

impl From<u32> for PageSize {
    fn from(most: u32) -> Self {
        Self::new(most)
    }
}

/// The bytes of all texts in a document, which approximate its memory.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + weight(value)).sum(),
        _ => 0,
    }
}

/// Size of the first page, without information about its objects.
const FIRST: u32 = 50;

/// Bytes of a page: 500 objects with 16 KiB of metadata each, several times the typical size.
const WEIGHT: usize = 8 << 20;

/// The objects of a page.
pub(crate) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.get("items").and_then(Value::as_array).into_iter().flatten()
}

/// The continue token of a page.
pub(crate) fn next_page(list: &Value) -> Option<String> {
    let token = list.pointer("/metadata/continue").and_then(Value::as_str);
    token.filter(|token| !token.is_empty()).map(str::to_owned)
}

/// The number of remaining objects, if in the response.
pub(crate) fn behind(list: &Value) -> Option<u64> {
    list.pointer("/metadata/remainingItemCount").and_then(Value::as_u64)
}

#[cfg(test)]
mod tests {
    use kube::{Client, Config};
    use serde_json::json;

    use super::*;
    use crate::web::tests::{Manner, SmallServer, answer, waited};

    #[test]
    fn pages_of_large_objects_are_small() {
        let page = |count: usize, each: usize| json!({"items": vec![json!({"a": "x".repeat(each)}); count]});
        let size = PageSize::new(500);
        assert_eq!(size.limit(), FIRST);
        for limit in [100, 200, 400, 500, 500] {
            size.learn(&page(50, 1_000));
            assert_eq!(size.limit(), limit, "twice the last, and at most as many as requested");
        }
        size.learn(&page(50, 200_000));
        assert_eq!(size.limit(), 41);
        size.learn(&page(3, 20 << 20));
        assert_eq!(size.limit(), 1);
        size.learn(&json!({"items": []}));
        assert_eq!(size.limit(), 2);
        assert_eq!(PageSize::new(10).limit(), 10);
    }

    #[test]
    fn pages_shrink_on_failures() {
        let size = PageSize::new(4);
        for limit in [2, 1, 1] {
            size.shrink();
            assert_eq!(size.limit(), limit);
        }
        size.learn(&json!({"items": []}));
        assert_eq!(size.limit(), 2);
    }

    /// A webhook that fails once in 30 calls converts half of a page of 50.
    #[test]
    fn failed_page_is_read_again_at_half_its_size() {
        let failure = "conversion webhook for example.com/v1, Kind=W failed: Post \"https://w\": unexpected EOF";
        let failure = json!({"kind": "Status", "code": 500, "message": failure}).to_string();
        let server = SmallServer::start(move |path| match path {
            "/w?limit=25" => Manner::Says(answer(200, r#"{"items": []}"#)),
            _ => Manner::Says(answer(500, &failure)),
        });
        let list = waited(async {
            let config = Config::new(server.url("").parse().unwrap());
            let cluster = Cluster::new(Client::try_from(config).unwrap(), server.url(""));
            let pages = Pages::new(&cluster, "/w".to_owned(), Extent::Objects, 500);
            let pages = pages.with_patience(&RetryBudget::default());
            pages.page(None, &mut async |_, _| Ok::<(), CallError>(())).await
        });
        assert_eq!(list.unwrap(), json!({"items": []}));
    }
}
