//! The removal of a controller version: the documents to apply and delete, in order.
//!
//! After each step, every possible write is checked by a webhook. First new objects get another version, then no object
//! can enter the old version, and only then its webhooks are removed.

use serde_json::{Value, json};

use super::admission_webhooks::{Selection, webhooks};
use super::client_config::ClientConfig;
use super::guards::guard::{GuardMode, guard, unserved};
use crate::{definition::Kind, webhook::ControllerVersion};

/// A step. Steps are executed in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RetireStep {
    /// Documents to apply.
    Apply {
        /// The purpose.
        why: String,
        /// The documents.
        documents: Vec<Value>,
    },
    /// Documents to delete: name and kind of each.
    Delete {
        /// The purpose.
        why: String,
        /// The documents.
        documents: Vec<Value>,
    },
}

/// The steps that remove a version. `served` are the remaining versions, `default` is the new default if the removed
/// version was the default, and `client` is the address of the servers.
#[must_use]
pub fn retire(
    kind: &Kind,
    version: &ControllerVersion,
    served: &[ControllerVersion],
    default: Option<&ControllerVersion>,
    mode: Option<GuardMode>,
    client: &ClientConfig,
) -> Vec<RetireStep> {
    let retired = version.as_str();
    let mut steps = Vec::new();
    if let Some(default) = default {
        let why = format!(
            "objects without a label belong to {}; first start its server with --default-version",
            default.as_str()
        );
        steps.push(RetireStep::Apply { why, documents: webhooks(kind, default, Selection::Unlabelled, client) });
    }
    if let Some(mode) = mode {
        let documents = [guard(kind, served, mode), unserved(kind, served)].concat();
        let why = match default {
            Some(_) => guarded(mode, retired),
            None => {
                format!("{}; give --default if objects without a label belong to {retired}'s", guarded(mode, retired))
            }
        };
        steps.push(RetireStep::Apply { why, documents });
    }
    let mut removed_documents = webhooks(kind, version, Selection::Labelled, client);
    for other in served {
        removed_documents.extend(webhooks(kind, other, Selection::Shadowed(version), client));
        removed_documents.extend(webhooks(kind, version, Selection::Shadowed(other), client));
    }
    let name = |document: &Value| {
        let of = |pointer: &str| document.pointer(pointer).cloned().unwrap_or_default();
        json!({"apiVersion": of("/apiVersion"), "kind": of("/kind"), "metadata": {"name": of("/metadata/name")}})
    };
    let why = format!(
        "the server of {retired} gets no requests: check its label once more, then stop the server and its \
             controller{}",
        if mode == Some(GuardMode::Deny) { "" } else { ". Later objects with the label are not validated" }
    );
    steps.push(RetireStep::Delete { why, documents: removed_documents.iter().map(name).collect() });
    steps
}

/// The effect of the guard once it accepts only the remaining versions.
fn guarded(mode: GuardMode, retired: &str) -> String {
    match mode {
        GuardMode::Deny => format!("no object gets the label {retired} any more"),
        GuardMode::Warn => format!("writers of the label {retired} are warned, but not refused"),
        GuardMode::Audit => {
            format!("the audit log lists writers of the label {retired}, which are not refused")
        }
    }
}
