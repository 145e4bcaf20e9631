//! Frozen resources: only the rollout may write them while it is active.
//!
//! This module parses and validates. The API server enforces by a policy
//! (`crates/rollout/src/report/documents/rollout_freeze.rs`).

use super::document::{FreezeSpec, near};
use super::versions::OrderedVersion;
use pointsman_core::apimachinery::{Requirement, ResourceName, Selector, is_dns_label};

/// Resources, and their refused operations.
#[derive(Clone, Debug)]
pub(crate) struct Freeze {
    pub(crate) resources: Vec<ResourceName>,
    pub(crate) operations: Vec<&'static str>,
    /// Empty for all namespaces.
    pub(crate) namespaces: Vec<String>,
    labels: Selector,
    /// The part of objects to which the bounds apply; all parts if `None`.
    pub(crate) part: Option<String>,
    /// Frozen until the lowest running version is at least this one, in any phase.
    pub(crate) at_least: Option<OrderedVersion>,
    /// Frozen until the highest running version is at most this one.
    pub(crate) at_most: Option<OrderedVersion>,
}

/// A frozen resource, in all or some namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Frozen<'r> {
    /// The resource.
    pub resource: &'r ResourceName,
    /// True if only some namespaces are frozen; excludes cluster-scoped objects.
    pub in_namespaces: bool,
    /// The part to which the versions apply; `None` for whole objects.
    pub part: Option<&'r str>,
    /// Frozen until the lowest running version is at least this one.
    pub at_least: Option<&'r str>,
    /// Frozen until the highest running version is at most this one.
    pub at_most: Option<&'r str>,
}

impl Freeze {
    /// Compiles a freeze, or returns the error. `own` is plural and group of the rollout's kind, `parts` are the parts
    /// of its objects.
    pub(crate) fn compile(spec: &FreezeSpec, own: (&str, &str), parts: &[&str]) -> Result<Self, String> {
        let operations = operations(spec.operations.as_deref())?;
        if spec.resources.is_empty() {
            return Err("resources is empty: add at least one, such as deployments.apps".to_owned());
        }
        let mut resources = Vec::new();
        for text in &spec.resources {
            let resource = named(text)?;
            if let Some(why) = in_the_way(&resource, &operations, own) {
                return Err(format!("{resource}: {why}"));
            }
            if !resources.contains(&resource) {
                resources.push(resource);
            }
        }
        let namespaces = spec.namespaces.clone();
        if namespaces.as_ref().is_some_and(Vec::is_empty) {
            return Err("namespaces is empty: remove the key for all namespaces, or add at least one".to_owned());
        }
        let namespaces = namespaces.unwrap_or_default();
        if let Some(bad) = namespaces.iter().find(|name| !is_dns_label(name)) {
            return Err(format!("namespaces: {bad:?} is no name of a namespace"));
        }
        let labels = Selector::parse(spec.labels.as_deref().unwrap_or_default());
        let labels = labels.map_err(|error| format!("labels: {error}"))?;
        let (at_least, at_most) =
            (bound("atLeast", spec.at_least.as_deref())?, bound("atMost", spec.at_most.as_deref())?);
        let part = spec.part.clone();
        let is_bound = at_least.is_some() || at_most.is_some();
        if let Some(why) = part.as_deref().and_then(|part| bad_part(part, parts, is_bound)) {
            return Err(why);
        }
        Ok(Self { resources, operations, namespaces, labels, part, at_least, at_most })
    }

    /// Label requirements of frozen objects.
    pub(crate) fn labels(&self) -> &[Requirement] {
        &self.labels.requirements
    }

    /// True if versions determine the freeze instead of the phase.
    pub(crate) fn is_bound(&self) -> bool {
        self.at_least.is_some() || self.at_most.is_some()
    }

    pub(crate) fn frozen(&self) -> impl Iterator<Item = Frozen<'_>> {
        let in_namespaces = !self.namespaces.is_empty();
        let [at_least, at_most] =
            [&self.at_least, &self.at_most].map(|bound| bound.as_ref().map(|bound| bound.version.as_str()));
        let part = self.part.as_deref();
        self.resources.iter().map(move |resource| Frozen { resource, in_namespaces, part, at_least, at_most })
    }
}

fn bound(what: &str, text: Option<&str>) -> Result<Option<OrderedVersion>, String> {
    let Some(text) = text else { return Ok(None) };
    OrderedVersion::of(text).map(Some).ok_or_else(|| format!("{what}: {text:?} is no version"))
}

/// The error of a part, if invalid.
fn bad_part(part: &str, parts: &[&str], is_bound: bool) -> Option<String> {
    if parts.is_empty() {
        return Some(format!("part: {part:?} is unknown: the definition has no such part under `observe`"));
    }
    if !parts.contains(&part) {
        let (hint, known) = (near(part, parts), parts.join(", "));
        return Some(format!("part: {part:?} is unknown{hint} Known parts: {known}"));
    }
    (!is_bound)
        .then(|| format!("part: {part} needs atLeast or atMost: otherwise the freeze lasts for the whole rollout"))
}

fn operations(spec: Option<&[String]>) -> Result<Vec<&'static str>, String> {
    let Some(texts) = spec else { return Ok(OPERATIONS.to_vec()) };
    if texts.is_empty() {
        return Err("operations is empty: remove the key for all operations".to_owned());
    }
    if let Some(unknown) = texts.iter().find(|text| !OPERATIONS.contains(&text.as_str())) {
        let (hint, known) = (near(unknown, &OPERATIONS), OPERATIONS.join(", "));
        return Err(format!("operations: {unknown:?} is unknown{hint} Known operations: {known}"));
    }
    Ok(OPERATIONS.into_iter().filter(|known| texts.iter().any(|text| text == known)).collect())
}

/// Parses a resource: explicit names only, without subresources.
fn named(text: &str) -> Result<ResourceName, String> {
    if text.contains('*') {
        return Err(format!(
            "{text:?} would freeze resources that the rollout, its controllers and the cluster need: name each \
                 resource, such as deployments.apps"
        ));
    }
    ResourceName::parse(text).map_err(|why| format!("{why}; subresources such as status are never frozen"))
}

/// The reason why a rollout cannot freeze a resource. `own` is plural and group of the rollout's kind.
fn in_the_way(resource: &ResourceName, operations: &[&str], own: (&str, &str)) -> Option<String> {
    let is_updated = operations.contains(&"UPDATE");
    match (resource.plural.as_str(), resource.group.as_str()) {
        this if this == own && is_updated => Some(
            "the rollout would block itself: its controllers write to the moving objects. Freeze CREATE and \
                 DELETE, without UPDATE"
                .to_owned(),
        ),
        ("stagedrollouts", "pointsman.dev") => Some(
            "then the rollout could not be paused or undone. The policy of pointsman rollout crd already prevents the \
                 deletion of an active StagedRollout"
                .to_owned(),
        ),
        ("leases", "coordination.k8s.io") => {
            Some("the rollout would block itself: its controllers and its runner renew Leases".to_owned())
        }
        (_, group) if UNSEEN.contains(&group) => {
            Some("the API server evaluates no policy for this resource".to_owned())
        }
        _ => None,
    }
}

const OPERATIONS: [&str; 3] = ["CREATE", "UPDATE", "DELETE"];

/// Groups that admission policies skip. Source: `apiserver pkg/admission/plugin/webhook/predicates/rules/rules.go`,
/// `IsExemptAdmissionConfigurationResource`, and `kubernetes pkg/kubeapiserver/admission/exclusion/resources.go`.
const UNSEEN: [&str; 3] = ["admissionregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io"];
