//! Calls to the API server.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::call_error::CallError;
use super::error_chain::chain;
use super::event_lines::EventLines;
use super::outage_retry::OutageWait;
use super::retry_after::RetryAfterGate;

/// A cluster: its API server, and the credentials.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    address: String,
    /// `None` if an outage is reported at once.
    waiting: Option<Arc<OutageWait>>,
    /// `None` if `Retry-After` has no effect on other calls.
    respite: Option<RetryAfterGate>,
}

/// The requested part of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// The whole object.
    Objects,
    /// `PartialObjectMetadata`.
    Metadata,
    /// `PartialObjectMetadataList`.
    MetadataOfAll,
    /// `APIGroupDiscoveryList`: every resource of every group in one response.
    Discovery,
}

impl Extent {
    fn media_type(self) -> &'static str {
        match self {
            Self::Objects => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Self::Discovery => "application/json;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2",
            Self::MetadataOfAll => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        }
    }
}

/// The form of a patch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PatchForm {
    /// Server-side apply, as [`MANAGER`].
    Apply,
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
    /// The merge of built-in kinds, with list keys.
    Strategic,
}

/// Query for a dry run.
pub(crate) const DRY: &str = "?dryRun=All";

/// The field manager of applied documents.
pub(crate) const MANAGER: &str = "pointsman";

impl Cluster {
    pub(crate) fn new(client: Client, address: String) -> Self {
        Self { client, address, waiting: None, respite: None }
    }

    /// The same cluster with retries during outages: after a first response, a call that fails temporarily is repeated
    /// for at most two minutes. The callback receives the error and the pause. Every call is idempotent or has
    /// preconditions.
    #[must_use]
    pub fn waiting(self, report: impl Fn(&CallError, Duration) + Send + Sync + 'static) -> Self {
        Self { waiting: Some(Arc::new(OutageWait::new(report))), ..self }
    }

    /// The same cluster that respects `Retry-After` of 429 responses for all calls of this instance and its clones.
    #[must_use]
    pub(crate) fn heeding(&self) -> Self {
        Self { respite: Some(self.respite.clone().unwrap_or_default()), ..self.clone() }
    }

    /// Waits until a call is allowed. Callers that measure time wait before the measurement.
    pub(crate) async fn wait_for_retry_after(&self) {
        if let Some(respite) = &self.respite {
            respite.is_over().await;
        }
    }

    /// The retries during outages, if enabled.
    pub(crate) fn waits(&self) -> Option<&OutageWait> {
        self.waiting.as_deref()
    }

    /// The address of its API server.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, CallError> {
        self.read(path, Extent::Objects).await
    }

    /// The document at a path; `None` if it does not exist.
    pub(crate) async fn find(&self, path: &str) -> Result<Option<Value>, CallError> {
        match self.get(path).await {
            Ok(document) => Ok(Some(document)),
            Err(error) if error.code() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn read(&self, path: &str, extent: Extent) -> Result<Value, CallError> {
        self.call(Method::GET, path, extent, None).await
    }

    /// Reads a document of limited size, in bytes.
    pub(crate) async fn read_at_most(&self, path: &str, extent: Extent, most: usize) -> Result<Value, CallError> {
        self.call_once(&Method::GET, path, extent, None, most).await
    }

    /// One call without retries, with a time limit and a size limit in bytes: the receiver is not an API server.
    pub(crate) async fn get_once(&self, path: &str, patience: Duration, most: usize) -> Result<Value, CallError> {
        let (operation, address) = (format!("GET {path}"), self.address.clone());
        let reason = format!("not within {} s", patience.as_secs());
        let late = |_| Err(CallError::NoAnswer { operation, address, reason });
        let operation = self.call_once(&Method::GET, path, Extent::Objects, None, most);
        timeout(patience, operation).await.unwrap_or_else(late)
    }

    /// Sends a patch. `extent` selects the part of the object in the response.
    pub(crate) async fn patch(
        &self,
        path: &str,
        form: PatchForm,
        patch: &Value,
        extent: Extent,
    ) -> Result<Value, CallError> {
        let form = match form {
            PatchForm::Apply => "application/apply-patch+yaml",
            PatchForm::Merge => "application/merge-patch+json",
            PatchForm::Json => "application/json-patch+json",
            PatchForm::Strategic => "application/strategic-merge-patch+json",
        };
        let path = match path.contains("fieldManager=") {
            true => path.to_owned(),
            // The CRD guard identifies pointsman by this name.
            false => format!("{path}{}fieldManager={MANAGER}", if path.contains('?') { '&' } else { '?' }),
        };
        self.call(Method::PATCH, &path, extent, Some((form, patch))).await
    }

    /// Sends a create as dry run.
    pub(crate) async fn try_create(&self, collection: &str, object: &Value) -> Result<Value, CallError> {
        let path = format!("{collection}{DRY}&fieldManager={MANAGER}");
        self.call(Method::POST, &path, Extent::Objects, Some(("application/json", object))).await
    }

    /// Replaces a document, or a subresource.
    pub(crate) async fn put(&self, path: &str, document: &Value) -> Result<Value, CallError> {
        self.call(Method::PUT, path, Extent::Objects, Some(("application/json", document))).await
    }

    /// Creates a document.
    pub(crate) async fn post(&self, path: &str, document: &Value) -> Result<Value, CallError> {
        self.call(Method::POST, path, Extent::Objects, Some(("application/json", document))).await
    }

    /// Deletes a document. Returns false if it does not exist.
    pub(crate) async fn delete(&self, path: &str) -> Result<bool, CallError> {
        match self.call(Method::DELETE, path, Extent::Objects, None).await {
            Ok(_) => Ok(true),
            Err(CallError::Refused { code: 404, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object with delete options, which may contain preconditions.
    pub(crate) async fn delete_with(&self, path: &str, options: &Value) -> Result<(), CallError> {
        self.call(Method::DELETE, path, Extent::Objects, Some(("application/json", options))).await.map(drop)
    }

    /// Applies a document by server-side apply. `force` overrides conflicts with other field managers.
    pub(crate) async fn apply(&self, document: &Value, force: bool) -> Result<Value, CallError> {
        self.apply_with(document, &format!("force={force}")).await
    }

    /// [`Self::apply`] as dry run.
    pub(crate) async fn try_apply(&self, document: &Value, force: bool) -> Result<Value, CallError> {
        self.apply_with(document, &format!("force={force}&dryRun=All")).await
    }

    async fn apply_with(&self, document: &Value, query: &str) -> Result<Value, CallError> {
        let path = self.document_path(document).await?;
        let path = format!("{path}?fieldManager={MANAGER}&{query}");
        self.patch(&path, PatchForm::Apply, document, Extent::Objects).await
    }

    /// The path of an applied document. All of them are cluster-scoped.
    pub(crate) async fn document_path(&self, document: &Value) -> Result<String, CallError> {
        let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        let discovered = self.get(&format!("/apis/{version}")).await?;
        let plural = plural(&discovered, kind).ok_or_else(|| CallError::NoKind {
            address: self.address.clone(),
            kind: kind.to_owned(),
            version: version.to_owned(),
        })?;
        Ok(format!("/apis/{version}/{plural}/{name}"))
    }

    /// Reads a response line by line, such as watch events, until it ends, `each` breaks, or the time limit. Lines have
    /// a limit in bytes.
    pub(crate) async fn stream(
        &self,
        path: &str,
        extent: Extent,
        (longest, most): (Duration, usize),
        each: &mut dyn FnMut(&Value) -> ControlFlow<()>,
    ) -> Result<(), CallError> {
        let mut lines = self.open(path, extent, most).await?;
        let read = async {
            while let Some(event) = lines.next().await? {
                if each(&event).is_break() {
                    break;
                }
            }
            Ok(())
        };
        let late = |_| Err(self.no_answer(&format!("GET {path}"), format!("the call did not end within {longest:?}")));
        timeout(longest, read).await.unwrap_or_else(late)
    }

    /// Opens a line-by-line response. Lines have a limit in bytes. Without retries: the reader continues at its own
    /// position.
    pub(crate) async fn open(&self, path: &str, extent: Extent, most: usize) -> Result<EventLines, CallError> {
        self.wait_for_retry_after().await;
        let operation = format!("GET {path}");
        let work = async {
            let response = self.send(&Method::GET, path, extent, None).await?;
            if response.status().is_success() {
                return Ok(EventLines::new(operation.clone(), self.address.clone(), response.into_body(), most));
            }
            let (head, body) = response.into_parts();
            let bytes = Limited::new(body, ERROR_LIMIT).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            let json: Option<Value> = serde_json::from_slice(&bytes).ok();
            Err(refused(operation.clone(), head.status.as_u16(), &head.headers, json.as_ref()))
        };
        self.in_time(&operation, work).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        extent: Extent,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, CallError> {
        let Some(waiting) = self.waits() else { return self.call_once(&method, path, extent, body, ALL).await };
        let began = Instant::now();
        let mut tried = false;
        loop {
            let answer = self.call_once(&method, path, extent, body, ALL).await;
            let Some(pause) = waiting.pause(&answer) else {
                if tried {
                    waiting.note(began.elapsed());
                }
                return answer;
            };
            tried = true;
            sleep(pause).await;
        }
    }

    async fn call_once(
        &self,
        method: &Method,
        path: &str,
        extent: Extent,
        body: Option<(&str, &Value)>,
        most: usize,
    ) -> Result<Value, CallError> {
        self.wait_for_retry_after().await;
        let operation = format!("{method} {path}");
        let work = async {
            let response = self.send(method, path, extent, body).await?;
            self.read_answer(&operation, response, most).await
        };
        self.in_time(&operation, work).await
    }

    /// The result of a call, with a time limit. Respects `Retry-After` for later calls.
    async fn in_time<T>(
        &self,
        operation: &str,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let late = |_| Err(self.no_answer(operation, format!("not within {} seconds", DEADLINE.as_secs())));
        let answer = timeout(DEADLINE, work).await.unwrap_or_else(late);
        if let Some(respite) = &self.respite {
            respite.heed(&answer);
        }
        answer
    }

    async fn send(
        &self,
        method: &Method,
        path: &str,
        extent: Extent,
        body: Option<(&str, &Value)>,
    ) -> Result<Response<Body>, CallError> {
        let operation = format!("{method} {path}");
        let request = Request::builder().method(method).uri(path).header(ACCEPT, extent.media_type());
        let request = match body {
            Some((form, body)) => request.header(CONTENT_TYPE, form).body(Body::from(body.to_string().into_bytes())),
            None => request.body(Body::empty()),
        };
        let request = request.map_err(|error| self.no_answer(&operation, chain(&error)))?;
        self.client.send(request).await.map_err(|error| self.no_answer(&operation, without_kube(error)))
    }

    async fn read_answer(&self, operation: &str, response: Response<Body>, most: usize) -> Result<Value, CallError> {
        let (head, body) = response.into_parts();
        let address = || self.address.clone();
        let bytes = Limited::new(body, most).collect().await.map_err(|error| match error.is::<LengthLimitError>() {
            true => CallError::TooLarge { operation: operation.to_owned(), address: address(), most },
            false => self.no_answer(operation, chain(&*error)),
        });
        let json: Option<Value> = serde_json::from_slice(&bytes?.to_bytes()).ok();
        if head.status.is_success() {
            return json.ok_or_else(|| CallError::NotJson { operation: operation.to_owned(), address: address() });
        }
        Err(refused(operation.to_owned(), head.status.as_u16(), &head.headers, json.as_ref()))
    }

    fn no_answer(&self, operation: &str, reason: String) -> CallError {
        CallError::NoAnswer { operation: operation.to_owned(), address: self.address.clone(), reason }
    }
}

/// Kind and name of a document.
pub(crate) fn title(document: &Value) -> String {
    let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("/kind"), text("/metadata/name"))
}

/// The plural of a kind, from an `APIResourceList`.
fn plural<'v>(discovered: &'v Value, kind: &str) -> Option<&'v str> {
    let text = |resource: &'v Value, name: &str| resource.get(name).and_then(Value::as_str);
    let resources = discovered.get("resources").and_then(Value::as_array).into_iter().flatten();
    let mut names = resources.filter(|resource| text(resource, "kind") == Some(kind)).filter_map(|it| text(it, "name"));
    // Subresources have the same kind.
    names.find(|name| !name.contains('/'))
}

fn refused(operation: String, code: u16, headers: &HeaderMap, status: Option<&Value>) -> CallError {
    let message = status.and_then(|status| status.get("message")).and_then(Value::as_str);
    let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    let detail = status.and_then(|status| status.pointer("/details/retryAfterSeconds")).and_then(Value::as_u64);
    let next = status.and_then(|status| status.pointer("/metadata/continue")).and_then(Value::as_str);
    CallError::Refused {
        operation,
        code,
        message: message.unwrap_or("no reason was given").to_owned(),
        retry_after: header.or(detail).map(Duration::from_secs),
        next: next.map(str::to_owned),
        conflicts: status.map(conflicts).unwrap_or_default(),
    }
}

/// Conflicting fields and their owners, in the format of `kubectl apply --server-side`.
fn conflicts(status: &Value) -> Vec<String> {
    let text = |cause: &Value, name: &str| cause.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let causes = status.pointer("/details/causes").and_then(Value::as_array).into_iter().flatten();
    let conflicts = causes.filter(|cause| text(cause, "reason") == "FieldManagerConflict");
    conflicts.map(|cause| format!("{}: {}", text(cause, "message"), text(cause, "field"))).collect()
}

/// The connection error without kube's wrapper.
fn without_kube(error: kube::Error) -> String {
    match error {
        kube::Error::Service(error) => chain(error.as_ref()),
        error => chain(&error),
    }
}

/// API servers are trusted: lists have no size limit.
const ALL: usize = usize::MAX;

/// Maximum size of an error response, in bytes.
const ERROR_LIMIT: usize = 1 << 20;

/// The API server times out after 60 s (`--request-timeout`), with a better message.
const DEADLINE: Duration = Duration::from_secs(65);

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use kube::Config;
    use serde_json::json;

    use super::*;
    use crate::web::tests::{Manner, SmallServer, waited};

    #[test]
    fn retry_after_delays_next_call() {
        let operation = Arc::<Mutex<Vec<Instant>>>::default();
        let recorded = operation.clone();
        let server = SmallServer::start(move |path| {
            recorded.lock().unwrap().push(Instant::now());
            Manner::Says(match path {
                "/busy" => b"HTTP/1.1 429 No\r\nretry-after: 1\r\ncontent-length: 2\r\n\r\n{}".to_vec(),
                _ => b"HTTP/1.1 200 Yes\r\ncontent-length: 2\r\n\r\n{}".to_vec(),
            })
        });
        waited(async {
            let mut config = Config::new(server.url("").parse().unwrap());
            config.default_retry = false;
            let cluster = Cluster::new(Client::try_from(config).unwrap(), server.url("")).heeding();
            let other = cluster.heeding();
            assert_eq!(cluster.get("/busy").await.unwrap_err().code(), Some(429));
            assert!(other.get("/fine").await.is_ok() && cluster.open("/fine", Extent::Objects, 9).await.is_ok());
        });
        let operation = operation.lock().unwrap();
        assert_eq!(operation.len(), 3);
        assert!(operation[1] - operation[0] >= Duration::from_secs(1), "{:?}", operation[1] - operation[0]);
        assert!(operation[2] - operation[1] < Duration::from_secs(1), "once is enough");
    }

    #[test]
    fn plural_is_discovered() {
        let discovered = json!({"resources": [
            {"name": "oxen/status", "kind": "Ox"}, {"name": "oxen", "kind": "Ox"}, {"name": "widgets", "kind": "Widget"},
        ]});
        assert_eq!(plural(&discovered, "Ox"), Some("oxen"));
        assert_eq!(plural(&discovered, "Cow"), None);
    }

    #[test]
    fn conflict_names_manager_and_field() {
        let status = json!({"message": "Apply failed with 1 conflict", "details": {"causes": [
            {"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using v1", "field": ".spec.versions"},
        ]}});
        let error = refused("PATCH /x".to_owned(), 409, &HeaderMap::new(), Some(&status));
        assert_eq!(error.conflicts(), ["conflict with \"kubectl\" using v1: .spec.versions"]);
        let stale = refused("PATCH /x".to_owned(), 409, &HeaderMap::new(), Some(&json!({"message": "modified"})));
        assert!(stale.conflicts().is_empty());
    }
}
