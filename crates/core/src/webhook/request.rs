//! A call of the webhook.

use std::fmt;

use super::caller::Caller;
use super::endpoint::Endpoint;
use super::facts::KnownFacts;

/// A call of the webhook: an endpoint, a body, and what its decision may depend on.
///
/// # Examples
/// ```
/// use pointsman_core::definition::MutatedKind;
/// use pointsman_core::webhook::{Endpoint, FactValue, HandleError, KnownFacts, Metadata, Outcome, Request, Webhook};
///
/// let mutations = "
/// apiVersion: pointsman.dev/v1
/// kind: KindDefinition
/// resource: {group: apps, version: v1, kind: Deployment, plural: deployments}
/// mutations:
/// - name: moved
///   fact: {resource: namespaces, name: '{namespace}', label: moved, is: 'true'}
///   always: [{set: {field: spec.replicas, value: 1}}]
///   onceTrue: [{set: {field: spec.replicas, value: 0}}]
/// ";
/// let mutated = MutatedKind::load("s.yaml", mutations)?;
/// let webhook = Webhook::new(Vec::new(), Metadata::Identity)?.with_mutations(vec![mutated])?;
/// let review = br#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1",
///     "operation": "CREATE", "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
///     "object": {"metadata": {"name": "a", "namespace": "n"}, "spec": {"replicas": 1}}}}"#;
/// let request = Request::new(Endpoint::Mutate, review);
/// let unknown = webhook.handle(&request).unwrap_err();
/// let message = "whether label moved of namespaces is \"true\" is still unknown, \
///                and mutation moved needs this fact, try again";
/// assert_eq!(unknown.to_string(), message);
/// let mut facts = KnownFacts::default();
/// facts.set("moved", FactValue::False);
/// assert_eq!(webhook.handle(&request.knowing(&facts))?.outcome, Outcome::Allow);
/// facts.set("moved", FactValue::True);
/// assert_eq!(webhook.handle(&request.knowing(&facts))?.outcome, Outcome::Patch);
/// let gone = webhook.handle(&request.knowing(&facts).while_awaited(&|| false)).unwrap_err();
/// assert_eq!(gone, HandleError::ClientDisconnected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Request<'r> {
    pub(super) endpoint: Endpoint,
    pub(super) body: &'r [u8],
    pub(super) facts: Option<&'r KnownFacts>,
    is_awaited: Option<&'r dyn Fn() -> bool>,
}

impl<'r> Request<'r> {
    /// A request of a client that waits without limit, without known facts.
    #[must_use]
    pub fn new(endpoint: Endpoint, body: &'r [u8]) -> Self {
        Self { endpoint, body, facts: None, is_awaited: None }
    }

    /// Sets the known facts of mutations.
    #[must_use]
    pub fn knowing(self, facts: &'r KnownFacts) -> Self {
        Self { facts: Some(facts), ..self }
    }

    /// Sets a check whether the client still waits, called between objects, steps, items and rules. It must be cheap.
    /// Once it returns false, handling stops with
    /// [`HandleError::ClientDisconnected`](super::HandleError::ClientDisconnected).
    #[must_use]
    pub fn while_awaited(self, is_awaited: &'r dyn Fn() -> bool) -> Self {
        Self { is_awaited: Some(is_awaited), ..self }
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &'r [u8] {
        self.body
    }

    /// Returns whether the client still waits.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.is_awaited.is_none_or(|is_awaited| is_awaited())
    }

    /// The client, which stays disconnected once a check has failed.
    pub(super) fn caller(&self) -> Caller<'r> {
        self.is_awaited.map_or_else(Caller::patient, Caller::waiting_while)
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}
