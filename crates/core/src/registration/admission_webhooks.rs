//! The webhook configurations of one controller version.

use std::iter;

use serde_json::{Value, json};

use super::document::{Component, metadata, not_being_deleted, set, with_api_defaults};
use super::{cel::literal, client_config::ClientConfig, names::prefixed};
use crate::{definition::Kind, webhook::ControllerVersion};

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

/// The mutating and the validating configuration for one controller version of a kind; the validating one alone where
/// it only looks on.
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

/// Which of the two webhooks a configuration calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Calls {
    Mutate,
    Validate,
}

impl Calls {
    /// The path that is called.
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
    let mut webhooks = asked(kind, version, selection, calls);
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

/// The webhooks of a configuration, wherever their server is: who is asked about what, and how long.
pub(super) fn asked(kind: &Kind, version: &ControllerVersion, selection: Selection<'_>, calls: Calls) -> Vec<Value> {
    let served = kind.versions.iter().filter(|version| version.served);
    let served: Vec<&str> = served.map(|version| version.name.as_ref()).collect();
    let call = calls.path().trim_start_matches('/');
    let mut webhook = json!({
        "name": format!("{call}-{}", suffix(kind, version, selection)),
        "admissionReviewVersions": ["v1"],
        "failurePolicy": match selection {
            Selection::Shadowed(_) => "Ignore",
            // Nothing of this kind is written unjudged: down means wait, and two replicas mean it is not down.
            Selection::Labelled | Selection::Unlabelled => "Fail",
        },
        "matchConditions": conditions(kind, selection),
        "matchPolicy": "Equivalent",
        "objectSelector": {"matchExpressions": [selector(kind, version, selection)]},
        "rules": [rule(kind, &served, &["CREATE", "UPDATE"], kind.plural())],
        "sideEffects": "None",
        "timeoutSeconds": match selection {
            // A write waits that long where the server does not answer.
            Selection::Shadowed(_) => 1,
            Selection::Labelled | Selection::Unlabelled => 10,
        },
    });
    if calls == Calls::Mutate {
        // Called again if a later webhook changed the object, since the hash must be of what is stored.
        set(&mut webhook, "reinvocationPolicy", "IfNeeded".into());
    }
    let scale = scale(kind).filter(|_| (selection, calls) == (Selection::Unlabelled, Calls::Validate));
    iter::once(webhook).chain(scale).collect()
}

/// What tells the names of configurations apart. The group belongs to it: other groups may have a kind with the same
/// plural.
fn suffix(kind: &Kind, version: &ControllerVersion, selection: Selection<'_>) -> String {
    let suffix = match selection {
        Selection::Labelled => prefixed(version),
        Selection::Shadowed(other) => format!("{}{SHADOWS}{}", prefixed(version), prefixed(other)),
        Selection::Unlabelled => UNLABELLED.to_owned(),
    };
    format!("{suffix}.{}.{}", kind.plural(), kind.group())
}

/// Between the version that looks on and the one that is looked at. A version may have the same words in it.
pub(super) const SHADOWS: &str = "-shadows-";

/// In the place of a version.
pub(super) const UNLABELLED: &str = "default";

/// Which objects a configuration selects.
fn selector(kind: &Kind, version: &ControllerVersion, selection: Selection<'_>) -> Value {
    let key = &kind.admission.version_label;
    let carries = |version: &ControllerVersion| json!({"key": key, "operator": "In", "values": [version.as_str()]});
    match selection {
        Selection::Labelled => carries(version),
        Selection::Shadowed(other) => carries(other),
        Selection::Unlabelled => json!({"key": key, "operator": "DoesNotExist"}),
    }
}

/// What a selector cannot say. The selector for objects without a label also matches one that gets its label by this
/// write; that one is for the version in the label, which must not be asked, and count it, twice.
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

/// The webhook for writes of the scale subresource, where the kind has one. What is sent is a `Scale`, which has no
/// label whoever manages the object, so it is for the default version alone; and it must not wait for that one, as a
/// Pod autoscaler would then stop for the objects of all.
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
