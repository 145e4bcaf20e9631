//! A mutation, as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::conflicts::{conflict, left_over};
use super::fact::{FactQuery, FactScope, MutationFact, NAME, NAMESPACE, WatchedFact};
use super::mutation::{FailurePolicy, Mutation};
use super::mutation_operation::MutationOperation;
use super::operation_spec::MutationOperationSpec;
use super::selection::MutationSelection;
use crate::apimachinery::{ResourceName, Selector, is_dns_label, is_dns_subdomain, is_qualified_name};
use crate::definition::path::Path;
use crate::definition::problems::Problems;
use crate::definition::yaml::Spanned;

/// The state of some objects before a fact is true, and after.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Mutation")]
pub(super) struct MutationSpec {
    /// The name in messages and webhooks: lower-case letters, digits and dashes.
    pub(super) name: String,
    /// A condition on another object.
    fact: FactSpec,
    /// Selects objects by name. Defaults to all names.
    #[serde(default)]
    names: Vec<String>,
    /// Selects objects by namespace. Defaults to all namespaces.
    #[serde(default)]
    namespaces: Vec<String>,
    /// Selects objects by label, in the syntax of `kubectl -l`.
    labels: Option<String>,
    /// The handling of a write while the webhook does not respond: `Fail` (default) or `Ignore`.
    failure_policy: Option<FailurePolicySpec>,
    /// The desired state, whether the fact is true or not.
    #[serde(default)]
    always: Vec<Spanned<MutationOperationSpec>>,
    /// The additional desired state once the fact is true.
    #[serde(default)]
    once_true: Vec<Spanned<MutationOperationSpec>>,
}

/// The handling of a write while the webhook does not respond.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename = "FailurePolicy")]
enum FailurePolicySpec {
    /// Rejects the write.
    Fail,
    /// Allows the write unchanged.
    Ignore,
}

/// A condition on another object. One of `annotation`, `label` and `field`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Fact")]
struct FactSpec {
    /// Plural and group of the object, such as `clusters.extensions.gardener.cloud`.
    resource: String,
    /// The API version. Defaults to the preferred version of the API server.
    version: Option<String>,
    /// The kind. Only `pointsman webhooks mutations --policy` needs the kind.
    kind: Option<String>,
    /// The namespace. `{namespace}` refers to the written object. Omit for cluster-scoped objects.
    namespace: Option<String>,
    /// The name. `{namespace}` and `{name}` refer to the written object.
    name: String,
    /// An annotation.
    annotation: Option<String>,
    /// A label.
    label: Option<String>,
    /// A field.
    field: Option<String>,
    /// The required text. Without this key, the property must be present.
    is: Option<String>,
}

impl MutationSpec {
    /// Compiles a mutation of objects whose Pod spec is at `pod`.
    pub(super) fn compile(spec: &Spanned<Self>, pod: &Path, problems: &mut Problems) -> Option<Mutation> {
        let (at_line, spec) = (spec.line, &spec.value);
        let mut bad = |why: String| problems.add(at_line, format!("mutation {}: {why}", spec.name));
        if !is_dns_label(&spec.name) {
            bad("the name must have lower-case letters, digits and dashes only, 63 at most".to_owned());
        }
        let fact = spec.fact.compile().map_err(|why| bad(format!("fact: {why}"))).ok();
        let selection = spec.selection().map_err(&mut bad).ok();
        if spec.always.is_empty() && spec.once_true.is_empty() {
            bad("has no operations: add some under `always` or `onceTrue`".to_owned());
        }
        let always = operations(spec, ("always", &spec.always), pod, problems);
        let once_true = operations(spec, ("onceTrue", &spec.once_true), pod, problems);
        for why in always.iter().flat_map(|first| once_true.iter().filter_map(|second| left_over(first, second, pod))) {
            problems.add(at_line, format!("mutation {}: {why}", spec.name));
        }
        let failure_policy = match spec.failure_policy {
            None | Some(FailurePolicySpec::Fail) => FailurePolicy::Fail,
            Some(FailurePolicySpec::Ignore) => FailurePolicy::Ignore,
        };
        let name = spec.name.clone();
        Some(Mutation { name, fact: fact?, selection: selection?, failure_policy, always, once_true })
    }

    fn selection(&self) -> Result<MutationSelection, String> {
        if let Some(name) = self.names.iter().find(|name| !is_dns_subdomain(name)) {
            return Err(format!("names: {name:?} is no name of an object"));
        }
        if let Some(name) = self.namespaces.iter().find(|name| !is_dns_label(name)) {
            return Err(format!("namespaces: {name:?} is no name of a namespace"));
        }
        let labels = Selector::parse(self.labels.as_deref().unwrap_or_default())?;
        Ok(MutationSelection { names: self.names.clone(), namespaces: self.namespaces.clone(), labels })
    }
}

/// Compiles the operations of one list, and checks that they do not conflict.
fn operations(
    spec: &MutationSpec,
    (what, all): (&str, &[Spanned<MutationOperationSpec>]),
    pod: &Path,
    problems: &mut Problems,
) -> Vec<MutationOperation> {
    let mut compiled: Vec<MutationOperation> = Vec::new();
    for one in all {
        let mut bad = |why: String| problems.add(one.line, format!("mutation {}: {what}: {why}", spec.name));
        match one.value.compile(pod) {
            Err(why) => bad(why),
            Ok(operation) => {
                let against = compiled.iter().find_map(|other| conflict(other, &operation, pod));
                if let Some(why) = against {
                    bad(format!("{why}: keep one of the two, or move the second to `onceTrue`"));
                }
                compiled.push(operation);
            }
        }
    }
    compiled
}

impl FactSpec {
    fn compile(&self) -> Result<MutationFact, String> {
        let query = match (&self.annotation, &self.label, &self.field) {
            (Some(key), None, None) => FactQuery::Annotation(self::key(key)?),
            (None, Some(key), None) => FactQuery::Label(self::key(key)?),
            (None, None, Some(field)) => {
                FactQuery::Field(Path::parse(field)?.names().iter().map(ToString::to_string).collect())
            }
            _ => return Err("takes one of `annotation`, `label` and `field`".to_owned()),
        };
        for (what, text) in [("name", Some(&self.name)), ("namespace", self.namespace.as_ref())] {
            let Some(text) = text else { continue };
            if !is_dns_subdomain(&text.replace(NAMESPACE, "x").replace(NAME, "x")) {
                return Err(format!("{what}: {text:?} is no name; use {NAMESPACE} and {NAME} for those of the object"));
            }
        }
        let resource = ResourceName::parse(&self.resource)?;
        let is_fixed = |text: &&String| !text.contains(NAMESPACE) && !text.contains(NAME);
        let scope = match &self.namespace {
            None => FactScope::Cluster,
            Some(one) if is_fixed(&one) => FactScope::One(one.clone()),
            Some(_) => FactScope::Every,
        };
        if let Some(kind) = self.kind.as_ref().filter(|kind| !kind.starts_with(char::is_uppercase)) {
            return Err(format!("{kind:?} is no kind: a kind begins with a capital"));
        }
        let (version, kind, is) = (self.version.clone(), self.kind.clone(), self.is.clone());
        let name = Some(&self.name).filter(is_fixed).cloned();
        let watched = WatchedFact { resource, version, kind, scope, name, query, is };
        let namespace = self.namespace.clone().unwrap_or_default();
        Ok(MutationFact { watched, namespace, name: self.name.clone() })
    }
}

fn key(text: &str) -> Result<String, String> {
    match is_qualified_name(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?} is no key of a label or an annotation")),
    }
}
