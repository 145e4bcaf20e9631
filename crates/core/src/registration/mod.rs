//! What is registered in a cluster: webhook configurations for a controller version, the policy that guards the version
//! label, and the rules that a CRD's own schema can say. Pure: documents out, nothing is applied here.

mod cel;
mod guard;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use cel::crd;
pub use guard::{GuardMode, guard};

use crate::definition::Kind;
use crate::webhook::{ControllerVersion, digest};

/// How the API server reaches a webhook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Client {
    /// A Service. `{version}` in the name stands for the controller version, with dashes.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
    /// An https URL up to, but without, the path. `{version}` in it stands for the controller version, with dashes.
    Url(String),
}

impl Client {
    /// The `clientConfig` for a path, or the same for a conversion webhook.
    #[must_use]
    pub fn config(
        &self,
        version: Option<&ControllerVersion>,
        path: &str,
        ca_bundle: Option<&str>,
    ) -> Value {
        let named = |text: &str| {
            version.map_or_else(
                || text.to_owned(),
                |version| text.replace("{version}", &dashed(version)),
            )
        };
        let mut config = match self {
            Self::Service { namespace, name, port } => {
                json!({"service": {"namespace": namespace, "name": named(name), "port": port, "path": path}})
            }
            Self::Url(url) => json!({"url": format!("{}{path}", named(url).trim_end_matches('/'))}),
        };
        if let (Some(ca), Some(object)) = (ca_bundle, config.as_object_mut()) {
            object.insert("caBundle".to_owned(), Value::String(ca.to_owned()));
        }
        config
    }
}

/// Which objects a pair of configurations selects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Selection<'a> {
    /// Those that carry the version's label, before or after a change.
    Labelled,
    /// Those that carry another version's label, for a server that only looks on: nothing is stamped, and nothing waits
    /// for it.
    Shadowed(&'a ControllerVersion),
    /// Those without a label: for the default version alone.
    Unlabelled,
}

/// The mutating and the validating configuration for one controller version of a kind.
///
/// `annotations` go on both, such as the one that lets cert-manager inject the CA.
#[must_use]
pub fn webhooks(
    kind: &Kind,
    version: &ControllerVersion,
    selection: Selection<'_>,
    client: &Client,
    ca_bundle: Option<&str>,
    annotations: &[(String, String)],
) -> Vec<Value> {
    let (plural, group) = (kind.plural(), kind.group());
    let versions: Vec<&str> = kind
        .versions
        .iter()
        .filter(|version| version.served)
        .map(|version| version.name.as_ref())
        .collect();
    let key = &kind.admission.version_label;
    let (suffix, selector) = match selection {
        Selection::Labelled => (
            format!("v{}", named(version)),
            json!({"key": key, "operator": "In", "values": [version.as_str()]}),
        ),
        Selection::Shadowed(other) => (
            format!("v{}-shadows-v{}", named(version), named(other)),
            json!({"key": key, "operator": "In", "values": [other.as_str()]}),
        ),
        Selection::Unlabelled => {
            ("default".to_owned(), json!({"key": key, "operator": "DoesNotExist"}))
        }
    };
    let configuration = |what: &str, path: &str, more: Value| {
        let mut webhook = json!({
            "name": format!("{}-{suffix}.{plural}.{group}", path.trim_start_matches('/')),
            "admissionReviewVersions": ["v1"],
            "clientConfig": client.config(Some(version), path, ca_bundle),
            // Nothing of this kind is written unjudged: down means wait, and two replicas mean it is not down.
            "failurePolicy": "Fail",
            // An object that is going must be let go, also while no server is up: its finalizers are removed by updates.
            "matchConditions": [{"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"}],
            "matchPolicy": "Equivalent",
            "objectSelector": {"matchExpressions": [selector]},
            "rules": [{
                "apiGroups": [group],
                "apiVersions": versions,
                "operations": ["CREATE", "UPDATE"],
                "resources": [plural],
                "scope": kind.crd.pointer("/spec/scope").cloned().unwrap_or_else(|| json!("*")),
            }],
            "sideEffects": "None",
            "timeoutSeconds": 10,
        });
        if let (Some(webhook), Some(more)) = (webhook.as_object_mut(), more.as_object()) {
            webhook.extend(more.clone());
        }
        let mut metadata = json!({
            // The group belongs to the name: other groups may have a kind with the same plural.
            "name": format!("pointsman-{suffix}.{plural}.{group}"),
            "labels": {"app.kubernetes.io/name": "pointsman", "app.kubernetes.io/managed-by": "pointsman"},
        });
        if let (Some(metadata), false) = (metadata.as_object_mut(), annotations.is_empty()) {
            let annotations = annotations
                .iter()
                .map(|(key, value)| (key.clone(), Value::String(value.clone())))
                .collect();
            metadata.insert("annotations".to_owned(), Value::Object(annotations));
        }
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{what}WebhookConfiguration"),
            "metadata": metadata,
            "webhooks": [webhook],
        })
    };
    if let Selection::Shadowed(_) = selection {
        return vec![configuration("Validating", "/validate", json!({"failurePolicy": "Ignore"}))];
    }
    vec![
        // Called again if a later webhook changed the object, since the hash must be of what is stored.
        configuration("Mutating", "/mutate", json!({"reinvocationPolicy": "IfNeeded"})),
        configuration("Validating", "/validate", json!({})),
    ]
}

/// A version as it stands in names, which take no dots.
fn dashed(version: &ControllerVersion) -> String {
    version.as_str().replace(['.', '_', '+'], "-").to_lowercase()
}

/// The same, told apart from all other versions: dots, dashes and capitals look alike there.
fn named(version: &ControllerVersion) -> String {
    let (text, name) = (version.as_str(), dashed(version));
    if name.replace('-', ".") == text {
        return name;
    }
    let digest = digest(&[text.as_bytes()]);
    format!("{name}-{}", digest.get(..8).unwrap_or_default())
}
