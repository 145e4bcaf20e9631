//! A definition of stages: the kind, which somebody else serves, and what is done to its objects.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::conflicts::{against, labels_of};
use super::fact::WatchedFact;
use super::mutation::Mutation;
use super::mutation_spec::MutationSpec;
use crate::apimachinery::{ResourceName, is_dns_label, is_dns_subdomain};
use crate::definition::definition_spec::{API_VERSION, KIND};
use crate::definition::path::Path;
use crate::definition::problems::{BadDefinition, Problems, line};
use crate::definition::yaml;

/// What objects of a kind are that somebody else defines, in stages.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "MutationsDefinition")]
pub(in crate::definition) struct MutationsFileSpec {
    /// Always `pointsman.dev/v1`.
    api_version: String,
    /// Always `KindDefinition`.
    kind: String,
    /// What the command line calls this definition. Defaults to the kind in lower case.
    name: Option<String>,
    /// The resource whose objects it is about.
    #[schemars(with = "ForeignResourceSpec")]
    resource: Spanned<ForeignResourceSpec>,
    /// What is done to them, in order.
    #[schemars(with = "Vec<MutationSpec>")]
    mutations: Vec<Spanned<MutationSpec>>,
}

/// A resource that somebody else defines, such as Kubernetes itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ForeignResource")]
pub(super) struct ForeignResourceSpec {
    /// Its group, such as `apps`. Empty, or left out, for Kubernetes' own first resources.
    #[serde(default)]
    group: String,
    /// Its version, such as `v1`.
    version: String,
    /// The kind of its objects.
    kind: String,
    /// Its plural, as in URLs.
    plural: String,
    /// Where the spec of its Pods is. Defaults to `spec.template.spec`; `.` where there are none.
    pod: Option<String>,
}

/// A definition of stages, compiled.
#[derive(Clone, Debug)]
pub struct MutatedKind {
    pub(crate) name: Arc<str>,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) pod: Path,
    pub(crate) mutations: Vec<Mutation>,
}

impl MutatedKind {
    /// Reads and checks a definition of stages. `file` is its own name in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line.
    pub fn load(file: &str, text: &str) -> Result<Self, BadDefinition> {
        let mut problems = Problems::new(file);
        let mutated = Self::compile(text, &mut problems);
        problems.into_result(mutated)
    }

    fn compile(text: &str, problems: &mut Problems) -> Option<Self> {
        let spec: MutationsFileSpec = match yaml::read(text) {
            Ok(spec) => spec,
            Err(error) => {
                let (line, message) = yaml::explain(&error);
                problems.add(line, message);
                return None;
            }
        };
        if spec.api_version != API_VERSION {
            problems.add(1, format!("apiVersion is {:?}, this build reads {API_VERSION:?}", spec.api_version));
        }
        if spec.kind != KIND {
            problems.add(2, format!("kind is {:?}, this build reads {KIND:?}", spec.kind));
        }
        let (at_line, resource) = (line(&spec.resource), &spec.resource.value);
        let pod = resource.pod(at_line, problems)?;
        let mut mutations: Vec<Mutation> = Vec::new();
        for one in &spec.mutations {
            let Some(mutation) = MutationSpec::compile(one, &pod, problems) else { continue };
            if mutations.iter().any(|other| other.name == mutation.name) {
                problems.add(line(one), format!("mutation {}: there are two of this name", mutation.name));
            }
            let differs = |other: &&Mutation| {
                other.failure_policy != mutation.failure_policy && other.selection.meets(&mutation.selection)
            };
            if let Some(why) = labels_of(&mutation, &mutation) {
                problems.add(line(one), format!("mutation {}: {why}: select by another one", mutation.name));
            }
            if let Some((other, why)) = mutations.iter().find_map(|other| Some((other, against(other, &mutation, &pod)?))) {
                let hint = "say it in one mutation, or give them names or namespaces that no object shares";
                problems.add(line(one), format!("mutations {} and {}: {why}: {hint}", other.name, mutation.name));
            }
            if let Some(other) = mutations.iter().find(differs) {
                let why = "may be about the same objects, and one call answers for both: give them one failurePolicy";
                problems.add(line(one), format!("mutations {} and {} {why}", other.name, mutation.name));
            }
            mutations.push(mutation);
        }
        if spec.mutations.is_empty() {
            problems.add(at_line, "mutations: has none, so nothing is ever done");
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

    /// What the command line calls this definition.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The API group; empty for Kubernetes' own first resources.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version in which objects are changed.
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

    /// The resource, as kubectl takes it.
    #[must_use]
    pub fn resource(&self) -> ResourceName {
        ResourceName { plural: self.plural.clone(), group: self.group.clone() }
    }

    /// Whether it is called so, in whichever case.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let resource = self.resource().to_string();
        [&*self.name, &self.kind.to_lowercase(), &self.plural, &resource].contains(&&*name)
    }

    /// The names of its stages, in order.
    pub fn mutations(&self) -> impl Iterator<Item = &str> {
        self.mutations.iter().map(|mutation| mutation.name.as_str())
    }

    /// The same with some of its stages.
    #[must_use]
    pub fn only(mut self, is_one: impl Fn(&str) -> bool) -> Self {
        self.mutations.retain(|mutation| is_one(&mutation.name));
        self
    }

    /// What has to be watched so that its stages can be decided, each once.
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

    /// Each stage in a few lines, for people: its fact, then its operations.
    #[must_use]
    pub fn told(&self) -> Vec<(String, Vec<String>)> {
        let told = |mutation: &Mutation| {
            let always = mutation.always.iter().map(|operation| format!("always: {}", operation.told()));
            let once_true = mutation.once_true.iter().map(|operation| format!("onceTrue: {}", operation.told()));
            (format!("{}: {}", mutation.name, mutation.fact.watched), always.chain(once_true).collect())
        };
        self.mutations.iter().map(told).collect()
    }
}

impl ForeignResourceSpec {
    /// Where the spec of its Pods is, once everything about the resource is fine.
    fn pod(&self, at_line: u64, problems: &mut Problems) -> Option<Path> {
        let mut bad = |why: String| problems.add(at_line, format!("resource: {why}"));
        if !(self.group.is_empty() || is_dns_subdomain(&self.group)) {
            bad(format!("{:?} is no group", self.group));
        }
        if !is_dns_label(&self.version) {
            bad(format!("{:?} is no version", self.version));
        }
        if !is_dns_label(&self.plural) {
            bad(format!("{:?} is no plural: it has lower-case letters only", self.plural));
        }
        if !self.kind.starts_with(char::is_uppercase) {
            bad(format!("{:?} is no kind: it begins with a capital", self.kind));
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

/// Where most kinds that make Pods have their spec.
const POD: &str = "spec.template.spec";
