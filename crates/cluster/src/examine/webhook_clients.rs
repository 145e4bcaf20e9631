//! The `clientConfig`s of a webhook configuration.

use serde_json::Value;

use super::registration_problem::RegisteredFinding;
use crate::bundle_faults::{BundleFault, bundle_faults};
use crate::conversion::ClientStanza;

/// A `clientConfig` of a webhook configuration.
pub(super) struct WebhookClient<'d> {
    /// Its location in the document, such as `webhooks[0]`.
    at: String,
    config: &'d Value,
    pub(super) stanza: ClientStanza,
}

impl<'d> WebhookClient<'d> {
    /// Those of a document, without duplicates of address and bundle.
    pub(super) fn all(document: &'d Value) -> Vec<Self> {
        let webhooks = document.get("webhooks").and_then(Value::as_array).into_iter().flatten().enumerate();
        let mut all: Vec<Self> = Vec::new();
        for (index, webhook) in webhooks {
            let Some(config) = webhook.get("clientConfig") else { continue };
            let Some(stanza) = ClientStanza::of_config(config) else { continue };
            let is_there = |other: &Self| {
                let bundle = |config: &Value| config.get("caBundle").cloned();
                other.stanza.place == stanza.place && bundle(other.config) == bundle(config)
            };
            if !all.iter().any(is_there) {
                all.push(Self { at: format!("webhooks[{index}]"), config, stanza });
            }
        }
        all
    }

    /// The faults of its bundle, at a time in seconds since 1970.
    pub(super) fn faults(&self, now: u64) -> Vec<BundleFault> {
        bundle_faults(self.config, now)
    }

    /// A finding about the document with this title. `rotate` is the command that replaces a bundle, for a document in
    /// a cluster; it cannot add a missing one.
    pub(super) fn finding(&self, title: &str, fault: &BundleFault, rotate: Option<&str>) -> RegisteredFinding {
        // The wording of `pointsman_core::registration::inspect`, which also finds missing bundles.
        let line = || format!("{}.clientConfig.caBundle: {AUTHORITY}", self.at);
        let fix = rotate.filter(|_| *fault != BundleFault::Missing).map_or_else(line, str::to_owned);
        RegisteredFinding { document: title.to_owned(), problem: fault.to_string(), fix }
    }
}

const AUTHORITY: &str = "the authority, base64 (webhooks --ca-file or --cert-manager)";
