//! The webhook configurations of one controller version.

use std::iter;

use serde_json::{Value, json};

use super::document::{Component, metadata, not_being_deleted, set, with_api_defaults};
use super::{client_config::ClientConfig, guards::cel::literal, names::prefixed};
use crate::{definition::Kind, webhook::ControllerVersion};

/// The objects that a pair of configurations selects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Selection<'a> {
    /// Objects with the label of the version, before or after a change.
    Labelled,
    /// Objects with the label of another version, for a server in shadow mode: it neither changes nor delays writes.
    Shadowed(&'a ControllerVersion),
    /// Objects without a label, for the default version only.
    Unlabelled,
}

/// The mutating and the validating configuration for one controller version of a kind. In shadow mode, the validating
/// one alone.
#[must_use]
pub fn webhooks(
    kind: &Kind,
    version: &ControllerVersion,
    selection: Selection<'_>,
    client: &ClientConfig,
) -> Vec<Value> {
    let of = |calls| configuration(kind, version, selection, client, calls);
    match selection {
        Selection::Shadowed(_) => vec![of(Calls::Validate)],
        Selection::Labelled | Selection::Unlabelled => vec![of(Calls::Mutate), of(Calls::Validate)],
    }
}

/// The endpoint of a configuration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Calls {
    Mutate,
    Validate,
}

impl Calls {
    /// The path of the endpoint.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Mutate => "/mutate",
            Self::Validate => "/validate",
        }
    }
}

fn configuration(
    kind: &Kind,
    version: &ControllerVersion,
    selection: Selection<'_>,
    client: &ClientConfig,
    calls: Calls,
) -> Value {
    let document = match calls {
        Calls::Mutate => "MutatingWebhookConfiguration",
        Calls::Validate => "ValidatingWebhookConfiguration",
    };
    let mut webhooks = webhooks_without_client(kind, version, selection, calls);
    for webhook in &mut webhooks {
        set(webhook, "clientConfig", client.for_version(version, calls.path()));
    }
    let mut metadata = metadata(&format!("pointsman-{}", suffix(kind, version, selection)), Component::Admission);
    client.annotate(&mut metadata);
    with_api_defaults(json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": document,
        "metadata": metadata,
        "webhooks": webhooks,
    }))
}

/// The webhooks of a configuration without their server: rules, selectors and timeouts.
pub(super) fn webhooks_without_client(
    kind: &Kind,
    version: &ControllerVersion,
    selection: Selection<'_>,
    calls: Calls,
) -> Vec<Value> {
    let served = kind.versions.iter().filter(|version| version.served);
    let served: Vec<&str> = served.map(|version| version.name.as_ref()).collect();
    let call = calls.path().trim_start_matches('/');
    let mut webhook = json!({
        "name": format!("{call}-{}", suffix(kind, version, selection)),
        "admissionReviewVersions": ["v1"],
        "failurePolicy": match selection {
            Selection::Shadowed(_) => "Ignore",
            // Writes of this kind fail while the server is down, so that none is unchecked. Two replicas avoid
            // downtime.
            Selection::Labelled | Selection::Unlabelled => "Fail",
        },
        "matchConditions": conditions(kind, selection),
        "matchPolicy": "Equivalent",
        "objectSelector": {"matchExpressions": [selector(kind, version, selection)]},
        "rules": [rule(kind, &served, &["CREATE", "UPDATE"], kind.plural())],
        "sideEffects": "None",
        "timeoutSeconds": match selection {
            // The maximum delay of a write if the server does not respond.
            Selection::Shadowed(_) => 1,
            Selection::Labelled | Selection::Unlabelled => 10,
        },
    });
    if calls == Calls::Mutate {
        // Called again if a later webhook changed the object, because the hash must match the stored object.
        set(&mut webhook, "reinvocationPolicy", "IfNeeded".into());
    }
    let scale = scale(kind).filter(|_| (selection, calls) == (Selection::Unlabelled, Calls::Validate));
    iter::once(webhook).chain(scale).collect()
}

/// The suffix of a configuration's name. Contains the group, because other groups may have a kind with the same plural.
fn suffix(kind: &Kind, version: &ControllerVersion, selection: Selection<'_>) -> String {
    let suffix = match selection {
        Selection::Labelled => prefixed(version),
        Selection::Shadowed(other) => format!("{}{SHADOWS}{}", prefixed(version), prefixed(other)),
        Selection::Unlabelled => UNLABELLED.to_owned(),
    };
    format!("{suffix}.{}.{}", kind.plural(), kind.group())
}

/// The separator between the shadowing and the shadowed version. A version may contain it too.
pub(super) const SHADOWS: &str = "-shadows-";

/// The name of the default version.
pub(super) const UNLABELLED: &str = "default";

/// The object selector of a configuration.
fn selector(kind: &Kind, version: &ControllerVersion, selection: Selection<'_>) -> Value {
    let key = &kind.admission.version_label;
    let carries = |version: &ControllerVersion| json!({"key": key, "operator": "In", "values": [version.as_str()]});
    match selection {
        Selection::Labelled => carries(version),
        Selection::Shadowed(other) => carries(other),
        Selection::Unlabelled => json!({"key": key, "operator": "DoesNotExist"}),
    }
}

/// Conditions that a selector cannot express. The selector for objects without a label also matches an object that
/// receives its label in this write. That object belongs to the version in the label, and must not be checked and
/// counted twice.
fn conditions(kind: &Kind, selection: Selection<'_>) -> Vec<Value> {
    let mut conditions = vec![not_being_deleted()];
    if selection == Selection::Unlabelled {
        let key = literal(&kind.admission.version_label);
        let expression = format!("!has(object.metadata.labels) || !({key} in object.metadata.labels)");
        conditions.push(json!({"name": "without-a-label", "expression": expression}));
    }
    conditions
}

fn rule(kind: &Kind, versions: &[&str], operations: &[&str], resource: &str) -> Value {
    json!({
        "apiGroups": [kind.group()],
        "apiVersions": versions,
        "operations": operations,
        "resources": [resource],
        "scope": kind.crd.pointer("/spec/scope").cloned().unwrap_or_else(|| json!("*")),
    })
}

/// The webhook for writes of the scale subresource, if the kind has one. The request contains a `Scale` without a
/// label, so only the default version checks it. Its failure policy ignores errors, because otherwise Pod autoscalers
/// would stop for the objects of all versions.
fn scale(kind: &Kind) -> Option<Value> {
    let scaled = kind.versions.iter().filter(|version| version.served && version.replicas.is_some());
    let scaled: Vec<&str> = scaled.map(|version| version.name.as_ref()).collect();
    let resource = format!("{}/scale", kind.plural());
    (!scaled.is_empty()).then(|| {
        json!({
            "name": format!("scale-default.{}.{}", kind.plural(), kind.group()),
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            "rules": [rule(kind, &scaled, &["UPDATE"], &resource)],
            "sideEffects": "None",
            "timeoutSeconds": 1,
        })
    })
}
