//! The served webhook and the known facts.

use std::sync::Arc;

use arc_swap::ArcSwap;
use pointsman_core::webhook::{Endpoint, HandleError, KnownFacts, Reply, Request, Webhook};

use super::decide::Decide;

/// A webhook and its known facts. Both may be replaced at any time, and each request uses the latest.
#[derive(Clone, Debug)]
pub struct ServedWebhook {
    webhook: Arc<ArcSwap<Webhook>>,
    facts: Arc<ArcSwap<KnownFacts>>,
}

impl ServedWebhook {
    /// Serves a webhook without known facts.
    #[must_use]
    pub fn new(webhook: Webhook) -> Self {
        Self { webhook: Arc::new(ArcSwap::from_pointee(webhook)), facts: Arc::default() }
    }

    /// The current webhook.
    #[must_use]
    pub fn webhook(&self) -> Arc<Webhook> {
        self.webhook.load_full()
    }

    /// Replaces the webhook.
    pub fn replace(&self, webhook: Webhook) {
        self.webhook.store(Arc::new(webhook));
    }

    /// The known facts.
    #[must_use]
    pub fn facts(&self) -> Arc<KnownFacts> {
        self.facts.load_full()
    }

    /// Replaces the known facts.
    pub fn know(&self, facts: KnownFacts) {
        self.facts.store(Arc::new(facts));
    }
}

impl Decide for ServedWebhook {
    fn handle(&self, request: &Request<'_>) -> Result<Reply, HandleError> {
        self.webhook.load().handle(&request.knowing(&self.facts.load()))
    }

    fn weight(&self, endpoint: Endpoint, body: &[u8]) -> u64 {
        self.webhook.load().weight(endpoint, body)
    }
}
