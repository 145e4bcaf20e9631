//! Calls of the API server.

use std::fmt::Write;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;

use super::call_error::CallError;

/// A cluster: its API server, and as whom it is asked.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    address: String,
}

/// How much of an object is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// All of it.
    Objects,
    /// `PartialObjectMetadata`.
    Metadata,
}

/// How a body changes what is there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PatchForm {
    /// Server-side apply, as [`MANAGER`].
    Apply,
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
}

/// The field manager of what we apply.
pub(crate) const MANAGER: &str = "pointsman";

impl Cluster {
    pub(crate) fn new(client: Client, address: String) -> Self {
        Self { client, address }
    }

    /// Where its API server is.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, CallError> {
        self.read(path, Extent::Objects).await
    }

    pub(crate) async fn read(&self, path: &str, extent: Extent) -> Result<Value, CallError> {
        let accept = match extent {
            Extent::Objects => "application/json".to_owned(),
            Extent::Metadata => partial(path),
        };
        self.call(Method::GET, path, &accept, None).await
    }

    /// Writes a patch; what is answered is the metadata of the object, where `asked` says so.
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
        };
        let accept = match extent {
            Extent::Objects => "application/json",
            Extent::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        };
        self.call(Method::PATCH, path, accept, Some((form, patch))).await
    }

    /// Makes a document what it says, by server-side apply. What others say of the same fields is a conflict.
    /// `force` takes them over.
    pub(crate) async fn apply(&self, document: &Value, force: bool) -> Result<Value, CallError> {
        let path = document_path(document).unwrap_or_default();
        let path = format!("{path}?fieldManager={MANAGER}&force={force}");
        self.patch(&path, PatchForm::Apply, document, Extent::Objects).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, CallError> {
        let asked = format!("{method} {path}");
        let request = Request::builder().method(method).uri(path).header(ACCEPT, accept);
        let request = match body {
            Some((form, body)) => request.header(CONTENT_TYPE, form).body(Body::from(body.to_string().into_bytes())),
            None => request.body(Body::empty()),
        };
        let no_answer = |reason: String| {
            let (asked, address) = (asked.clone(), self.address.clone());
            CallError::NoAnswer { asked, address, reason }
        };
        let request = request.map_err(|error| no_answer(chain(&error)))?;
        let work = async {
            let response = self.client.send(request).await.map_err(|error| no_answer(chain(&error)))?;
            let (head, body) = response.into_parts();
            let bytes = body.collect().await.map_err(|error| no_answer(chain(&error)))?.to_bytes();
            let json: Option<Value> = serde_json::from_slice(&bytes).ok();
            if head.status.is_success() {
                let address = self.address.clone();
                return json.ok_or_else(|| CallError::NotJson { asked: asked.clone(), address });
            }
            Err(refused(asked.clone(), head.status.as_u16(), &head.headers, json.as_ref()))
        };
        let seconds = DEADLINE.as_secs();
        timeout(DEADLINE, work).await.unwrap_or_else(|_| Err(no_answer(format!("not within {seconds} seconds"))))
    }
}

/// Where a document is that we apply: all of them are without a namespace, and their plurals are regular.
fn document_path(document: &Value) -> Option<String> {
    let text = |path: &str| document.pointer(path).and_then(Value::as_str);
    let (version, kind, name) = (text("/apiVersion")?, text("/kind")?, text("/metadata/name")?);
    let kind = kind.to_lowercase();
    let plural = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{kind}s"),
    };
    Some(format!("/apis/{version}/{plural}/{name}"))
}

/// What `as=` is called for one object and for a list: a path that ends in a collection has a query.
fn partial(path: &str) -> String {
    let kind = if path.contains('?') { "PartialObjectMetadataList" } else { "PartialObjectMetadata" };
    format!("application/json;as={kind};g=meta.k8s.io;v=v1")
}

fn refused(asked: String, code: u16, headers: &HeaderMap, status: Option<&Value>) -> CallError {
    let said = status.and_then(|status| status.get("message")).and_then(Value::as_str);
    let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    let detail = status.and_then(|status| status.pointer("/details/retryAfterSeconds")).and_then(Value::as_u64);
    let next = status.and_then(|status| status.pointer("/metadata/continue")).and_then(Value::as_str);
    CallError::Refused {
        asked,
        code,
        message: said.unwrap_or("no reason was given").to_owned(),
        retry_after: header.or(detail).map(Duration::from_secs),
        next: next.map(str::to_owned),
    }
}

/// An error and what caused it, each said once.
fn chain(error: &dyn std::error::Error) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(error) = source {
        let said = error.to_string();
        if !text.contains(&said) {
            let _ = write!(text, ": {said}");
        }
        source = error.source();
    }
    text
}

/// The API server gives up after 60 s (`--request-timeout`); its word is better than ours.
const DEADLINE: Duration = Duration::from_secs(65);
