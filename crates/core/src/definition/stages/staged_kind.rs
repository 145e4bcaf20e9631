//! A definition of stages: the kind, which somebody else serves, and what is done to its objects.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::conflicts::{against, labels_of};
use super::fact::WatchedFact;
use super::mutation_stage::MutationStage;
use super::stage_spec::StageSpec;
use crate::apimachinery::{ResourceName, is_dns_label, is_dns_subdomain};
use crate::definition::definition_spec::{API_VERSION, KIND};
use crate::definition::path::Path;
use crate::definition::problems::{BadDefinition, Problems, line};
use crate::definition::yaml;

/// What objects of a kind are that somebody else defines, in stages.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "StagesDefinition")]
pub(in crate::definition) struct StagesFileSpec {
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
    #[schemars(with = "Vec<StageSpec>")]
    stages: Vec<Spanned<StageSpec>>,
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
pub struct StagedKind {
    pub(crate) name: Arc<str>,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) pod: Path,
    pub(crate) stages: Vec<MutationStage>,
}

impl StagedKind {
    /// Reads and checks a definition of stages. `file` is its own name in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line.
    pub fn load(file: &str, text: &str) -> Result<Self, BadDefinition> {
        let mut problems = Problems::new(file);
        let staged = Self::compile(text, &mut problems);
        problems.into_result(staged)
    }

    fn compile(text: &str, problems: &mut Problems) -> Option<Self> {
        let spec: StagesFileSpec = match yaml::read(text) {
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
        let mut stages: Vec<MutationStage> = Vec::new();
        for one in &spec.stages {
            let Some(stage) = StageSpec::compile(one, &pod, problems) else { continue };
            if stages.iter().any(|other| other.name == stage.name) {
                problems.add(line(one), format!("stage {}: there are two of this name", stage.name));
            }
            let differs = |other: &&MutationStage| {
                other.failure_policy != stage.failure_policy && other.selection.meets(&stage.selection)
            };
            if let Some(why) = labels_of(&stage, &stage) {
                problems.add(line(one), format!("stage {}: {why}: select by another one", stage.name));
            }
            if let Some((other, why)) = stages.iter().find_map(|other| Some((other, against(other, &stage, &pod)?))) {
                let hint = "say it in one stage, or give them names or namespaces that no object shares";
                problems.add(line(one), format!("stages {} and {}: {why}: {hint}", other.name, stage.name));
            }
            if let Some(other) = stages.iter().find(differs) {
                let why = "may be about the same objects, and one call answers for both: give them one failurePolicy";
                problems.add(line(one), format!("stages {} and {} {why}", other.name, stage.name));
            }
            stages.push(stage);
        }
        if spec.stages.is_empty() {
            problems.add(at_line, "stages: has none, so nothing is ever done");
        }
        Some(Self {
            name: spec.name.unwrap_or_else(|| resource.kind.to_lowercase()).into(),
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            plural: resource.plural.clone(),
            pod,
            stages,
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
    pub fn stages(&self) -> impl Iterator<Item = &str> {
        self.stages.iter().map(|stage| stage.name.as_str())
    }

    /// The same with some of its stages.
    #[must_use]
    pub fn only(mut self, is_one: impl Fn(&str) -> bool) -> Self {
        self.stages.retain(|stage| is_one(&stage.name));
        self
    }

    /// What has to be watched so that its stages can be decided, each once.
    #[must_use]
    pub fn facts(&self) -> Vec<WatchedFact> {
        let mut facts: Vec<WatchedFact> = Vec::new();
        for stage in &self.stages {
            if !facts.contains(&stage.fact.watched) {
                facts.push(stage.fact.watched.clone());
            }
        }
        facts
    }

    /// Each stage in a few lines, for people: its fact, then its operations.
    #[must_use]
    pub fn told(&self) -> Vec<(String, Vec<String>)> {
        let told = |stage: &MutationStage| {
            let before = stage.before.iter().map(|operation| format!("before: {}", operation.told()));
            let after = stage.after.iter().map(|operation| format!("after: {}", operation.told()));
            (format!("{}: {}", stage.name, stage.fact.watched), before.chain(after).collect())
        };
        self.stages.iter().map(told).collect()
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
