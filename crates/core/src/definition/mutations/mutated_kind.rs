//! A definition of mutations: a foreign kind, and the mutations of its objects.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::conflicts::{against, labels_of};
use super::fact::WatchedFact;
use super::mutation::Mutation;
use super::mutation_spec::MutationSpec;
use crate::apimachinery::{ResourceName, is_dns_label, is_dns_subdomain};
use crate::definition::definition_spec::{API_VERSION, KIND, only_document};
use crate::definition::path::Path;
use crate::definition::problems::{BadDefinition, Problems};
use crate::definition::yaml::{Node, Spanned};

/// Mutations for the objects of a foreign kind.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "MutationsDefinition")]
pub(in crate::definition) struct MutationsFileSpec {
    /// Always `pointsman.dev/v1`.
    api_version: String,
    /// Always `KindDefinition`.
    kind: String,
    /// The name of this definition on the command line. Defaults to the kind in lower case.
    name: Option<String>,
    /// The resource of the objects.
    resource: Spanned<ForeignResourceSpec>,
    /// The mutations, in order.
    mutations: Vec<Spanned<MutationSpec>>,
}

/// A resource of another project, such as Kubernetes itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ForeignResource")]
pub(super) struct ForeignResourceSpec {
    /// The group, such as `apps`. Empty or omitted for the core group.
    #[serde(default)]
    group: String,
    /// The version, such as `v1`.
    version: String,
    /// The kind.
    kind: String,
    /// The plural, as in URLs.
    plural: String,
    /// The path of the Pod spec. Defaults to `spec.template.spec`. `.` if there is none.
    pod: Option<String>,
}

/// A compiled definition of mutations.
#[derive(Clone, Debug)]
pub struct MutatedKind {
    pub(crate) name: Arc<str>,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    /// The path of the Pod template.
    pub pod: Path,
    /// The mutations, in the order of the definition.
    pub mutations: Vec<Mutation>,
}

impl MutatedKind {
    /// Reads and checks a definition of mutations. `file` is the name of the definition in messages.
    ///
    /// # Errors
    /// All problems of the definition, each with its line.
    pub fn load(file: &str, text: &str) -> Result<Self, BadDefinition> {
        let mut problems = Problems::new(file);
        let document = only_document(text, &mut problems);
        let mutated = document.and_then(|document| Self::compile(&document, &mut problems));
        problems.into_result(mutated)
    }

    pub(in crate::definition) fn compile(document: &Node, problems: &mut Problems) -> Option<Self> {
        let spec: MutationsFileSpec = match document.read() {
            Ok(spec) => spec,
            Err(error) => {
                problems.add(error.line, error.message);
                return None;
            }
        };
        if spec.api_version != API_VERSION {
            problems.add(1, format!("apiVersion is {:?}, this build reads {API_VERSION:?}", spec.api_version));
        }
        if spec.kind != KIND {
            problems.add(2, format!("kind is {:?}, this build reads {KIND:?}", spec.kind));
        }
        let (at_line, resource) = (spec.resource.line, &spec.resource.value);
        let pod = resource.pod(at_line, problems)?;
        let mut mutations: Vec<Mutation> = Vec::new();
        for one in &spec.mutations {
            let Some(mutation) = MutationSpec::compile(one, &pod, problems) else { continue };
            if mutations.iter().any(|other| other.name == mutation.name) {
                problems.add(one.line, format!("mutation {}: another mutation has this name", mutation.name));
            }
            let differs = |other: &&Mutation| {
                other.failure_policy != mutation.failure_policy && other.selection.meets(&mutation.selection)
            };
            if let Some(why) = labels_of(&mutation, &mutation) {
                problems.add(one.line, format!("mutation {}: {why}: select by another label", mutation.name));
            }
            if let Some((other, why)) =
                mutations.iter().find_map(|other| Some((other, against(other, &mutation, &pod)?)))
            {
                let hint = "combine the two in one mutation, or select disjoint names or namespaces";
                problems.add(one.line, format!("mutations {} and {}: {why}: {hint}", other.name, mutation.name));
            }
            if let Some(other) = mutations.iter().find(differs) {
                let why = "may select the same objects, and one call serves both: use the same failurePolicy";
                problems.add(one.line, format!("mutations {} and {} {why}", other.name, mutation.name));
            }
            mutations.push(mutation);
        }
        if spec.mutations.is_empty() {
            problems.add(at_line, "mutations: is empty");
        }
        Some(Self {
            name: spec.name.unwrap_or_else(|| resource.kind.to_lowercase()).into(),
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            plural: resource.plural.clone(),
            pod,
            mutations,
        })
    }

    /// The name of this definition on the command line.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The API group. Empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version in which objects are mutated.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The kind of the objects.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The plural, as in URLs.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// The resource, in the syntax of kubectl.
    #[must_use]
    pub fn resource(&self) -> ResourceName {
        ResourceName { plural: self.plural.clone(), group: self.group.clone() }
    }

    /// Returns whether a name denotes this definition. Ignores case.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let resource = self.resource().to_string();
        [&*self.name, &self.kind.to_lowercase(), &self.plural, &resource].contains(&&*name)
    }

    /// The names of the mutations, in order.
    pub fn mutations(&self) -> impl Iterator<Item = &str> {
        self.mutations.iter().map(|mutation| mutation.name.as_str())
    }

    /// Keeps only some of the mutations.
    #[must_use]
    pub fn only(mut self, is_one: impl Fn(&str) -> bool) -> Self {
        self.mutations.retain(|mutation| is_one(&mutation.name));
        self
    }

    /// The facts that must be watched, without duplicates.
    #[must_use]
    pub fn facts(&self) -> Vec<WatchedFact> {
        let mut facts: Vec<WatchedFact> = Vec::new();
        for mutation in &self.mutations {
            if !facts.contains(&mutation.fact.watched) {
                facts.push(mutation.fact.watched.clone());
            }
        }
        facts
    }

    /// Describes each mutation in a few lines, for people: its fact, then its operations.
    #[must_use]
    pub fn describe(&self) -> Vec<(String, Vec<String>)> {
        let describe = |mutation: &Mutation| {
            let always = mutation.always.iter().map(|operation| format!("always: {}", operation.describe()));
            let once_true = mutation.once_true.iter().map(|operation| format!("onceTrue: {}", operation.describe()));
            (format!("{}: {}", mutation.name, mutation.fact.watched), always.chain(once_true).collect())
        };
        self.mutations.iter().map(describe).collect()
    }
}

impl ForeignResourceSpec {
    /// The path of the Pod spec. `None` if the resource has a problem.
    fn pod(&self, at_line: u64, problems: &mut Problems) -> Option<Path> {
        let mut bad = |why: String| problems.add(at_line, format!("resource: {why}"));
        if !(self.group.is_empty() || is_dns_subdomain(&self.group)) {
            bad(format!("{:?} is no group", self.group));
        }
        if !is_dns_label(&self.version) {
            bad(format!("{:?} is no version", self.version));
        }
        if !is_dns_label(&self.plural) {
            bad(format!("{:?} is no plural: a plural has lower-case letters only", self.plural));
        }
        if !self.kind.starts_with(char::is_uppercase) {
            bad(format!("{:?} is no kind: a kind begins with a capital", self.kind));
        }
        match Path::parse(self.pod.as_deref().unwrap_or(POD)) {
            Ok(pod) => Some(pod),
            Err(why) => {
                bad(format!("pod: {why}"));
                None
            }
        }
    }
}

/// The path of the Pod spec in most workload kinds.
const POD: &str = "spec.template.spec";
