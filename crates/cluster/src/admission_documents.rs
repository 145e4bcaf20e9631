//! Webhook configurations and policies.

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::pages::{Pages, items};

/// A registered document.
#[derive(Clone, Debug)]
pub(crate) struct AdmissionDocument {
    pub(crate) kind: &'static str,
    pub(crate) path: String,
    /// With its kind, which lists omit.
    pub(crate) document: Value,
}

impl AdmissionDocument {
    pub(crate) fn name(&self) -> &str {
        self.document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Kind and name.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.kind, self.name())
    }

    /// True if printed by `pointsman`.
    pub(crate) fn is_ours(&self) -> bool {
        is_managed_by_us(&self.document)
    }
}

fn is_managed_by_us(document: &Value) -> bool {
    let labels = document.pointer("/metadata/labels");
    labels.and_then(|labels| labels.get("app.kubernetes.io/managed-by")).is_some_and(|by| by == "pointsman")
}

/// True if a document of a file was printed by `pointsman`, with or without its labels.
pub(crate) fn is_pointsmans(document: &Value) -> bool {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    is_managed_by_us(document) || name.starts_with("pointsman-")
}

/// All of them, each policy before its binding. Empty for an API server without policies.
pub(crate) async fn admission_documents(cluster: &Cluster) -> Result<Vec<AdmissionDocument>, CallError> {
    let mut found = Vec::new();
    for (kind, plural) in KINDS {
        let collection = format!("{GROUP}/{plural}");
        let mut take = |list: Value| {
            for item in items(&list) {
                let mut document = item.clone();
                if let Some(members) = document.as_object_mut() {
                    members.insert("apiVersion".to_owned(), "admissionregistration.k8s.io/v1".into());
                    members.insert("kind".to_owned(), kind.into());
                }
                let name = item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                found.push(AdmissionDocument { kind, path: format!("{collection}/{name}"), document });
            }
        };
        let pages = Pages::new(cluster, collection.clone(), Extent::Objects, PAGE);
        match pages.all(&mut |_, _| {}, &mut take).await {
            Err(error) if error.code() == Some(404) => {}
            listed => listed?,
        }
    }
    Ok(found)
}

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

const KINDS: [(&str, &str); 4] = [
    ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
];

/// Same as the default `--chunk-size` of kubectl.
const PAGE: u32 = 500;
