//! A kind: its versions, what happens between them, and how it is loaded.

use std::io;
use std::sync::Arc;

use serde_json::Value;

use super::accessed_fields::AccessedFields;
use super::becomes::{BecomesSpec, KindConversion, Bridge};
use super::checks::{Checks, ChecksSpec};
use super::definition_spec::DefinitionSpec;
use super::growth::Growth;
use super::healthy::{Health, HealthySpec};
use super::workflows::{self, Workflow};
use super::path::Path;
use super::problems::{BadDefinition, Problems, line};
use super::step::{Step, StepSummary};
use super::version::{Version, VersionIndex, Versions};
use super::{
    admission::Admission,
    built_in::EMBEDDED,
    chain,
    crd::{Crd, bare_names},
    rollout_hash::HashedFields,
    side::Side,
};

/// A kind, compiled: its versions and what happens between them.
#[derive(Debug)]
pub struct Kind {
    pub(crate) name: Arc<str>,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) versions: Versions,
    /// Each leads from a version to the next newer one, oldest first.
    pub(crate) steps: Vec<Step>,
    pub(crate) rollout_hash: Option<HashedFields>,
    pub(crate) admission: Admission,
    pub(crate) health: Option<Health>,
    pub(crate) checks: Checks,
    pub(crate) workflows: Vec<Workflow>,
    pub(crate) crd: Value,
    /// How objects of another kind become objects of this one.
    becoming: Option<Box<KindConversion<Self>>>,
}

impl Kind {
    /// Reads and checks a definition. `read` gives the text of the CRD file it names; `file` is the definition's own
    /// name in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn load(
        file: &str,
        text: &str,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
    ) -> Result<Self, BadDefinition> {
        let mut problems = Problems::new(file);
        let kind = Self::compile(text, read, &mut problems);
        problems.into_result(kind)
    }

    /// Reads and checks a definition whose CRD is at hand too, both as YAML or JSON. The file that the definition names
    /// under `crd` is not looked for, and `definition` is its own name in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line.
    ///
    /// ```
    /// use pointsman_core::definition::Kind;
    ///
    /// let crd = r#"
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// metadata: {name: boats.example.com}
    /// spec:
    ///   group: example.com
    ///   names: {kind: Boat, plural: boats}
    ///   versions:
    ///   - name: v1
    ///     served: true
    ///     storage: false
    ///     schema:
    ///       openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {length: {type: integer}}}}}
    ///   - name: v2
    ///     served: true
    ///     storage: true
    ///     schema:
    ///       openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {meters: {type: integer}}}}}
    /// "#;
    /// let definition = "
    /// apiVersion: pointsman.dev/v1
    /// kind: KindDefinition
    /// crd: boats.crd.yaml
    /// steps:
    /// - from: v1
    ///   to: v2
    ///   operations:
    ///   - rename: {from: spec.length, to: spec.meters}
    /// ";
    /// let boat = Kind::from_crd(definition, crd)?;
    /// assert_eq!(boat.versions().collect::<Vec<_>>(), ["v1", "v2"]);
    ///
    /// let bad = Kind::from_crd(&definition.replace("spec.meters", "spec.metres"), crd).unwrap_err();
    /// assert!(bad.to_string().contains(r#"did you mean "meters"?"#), "{bad}");
    /// # Ok::<(), pointsman_core::definition::BadDefinition>(())
    /// ```
    pub fn from_crd(definition: &str, crd: &str) -> Result<Self, BadDefinition> {
        Self::load("definition", definition, &mut |_| Ok(crd.to_owned()))
    }

    /// The definitions that are built in.
    ///
    /// # Errors
    /// None in a build that passed its tests.
    pub fn embedded() -> Result<Vec<Self>, BadDefinition> {
        EMBEDDED.iter().map(|(file, text, crd)| Self::load(file, text, &mut |_| Ok((*crd).to_owned()))).collect()
    }

    fn compile(text: &str, read: &mut dyn FnMut(&str) -> io::Result<String>, problems: &mut Problems) -> Option<Self> {
        let spec = DefinitionSpec::read(text, problems)?;
        let crd = Crd::read(&spec.crd, read, problems)?;
        let versions = crd.versions(line(&spec.crd), &spec.steps, problems)?;
        let rollout_hash = match &spec.rollout_hash {
            Some(spec) => Some(spec.value.compile(&versions, line(spec), problems)?),
            None => None,
        };
        let steps = steps(&spec, &versions, rollout_hash.as_ref(), problems);
        let admission = match &spec.admission {
            Some(spec) => Admission::compile(spec, (&crd.group, &crd.kind), &versions, problems)?,
            None => Admission::none(&crd.group),
        };
        let health = match &spec.healthy {
            Some(spec) => Some(HealthySpec::compile(spec, &versions.at(versions.newest()).schema, problems)?),
            None => None,
        };
        let checks = ChecksSpec::compile(spec.checks.as_ref(), &admission, problems);
        let becoming = match &spec.becomes {
            Some(spec) => Some(Box::new(BecomesSpec::compile(spec, &crd, read, problems)?.map(Self::bridging))),
            None => None,
        };
        let source = becoming.as_ref().map(|becoming| becoming.source_schema());
        let namespaced = (crd.is_namespaced(), becoming.as_ref().is_none_or(|becoming| becoming.is_namespaced()));
        let newest = &versions.at(versions.newest()).schema;
        let words = spec.words_of_workflows(text);
        let workflows = workflows::compile(&spec.workflows, &words, newest, source, namespaced, problems);
        Some(Self {
            name: spec.name.unwrap_or_else(|| crd.kind.to_lowercase()).into(),
            group: crd.group,
            plural: crd.plural,
            kind: crd.kind,
            versions,
            steps,
            rollout_hash,
            admission,
            health,
            checks,
            workflows,
            crd: crd.document,
            becoming,
        })
    }

    /// Two kinds as one, whose versions they are.
    fn bridging(bridge: Bridge) -> Self {
        let Bridge { name, group, kind, plural, versions, step, checks, admission, crd } = bridge;
        let (rollout_hash, health, workflows, becoming) = (None, None, Vec::new(), None);
        let (name, steps) = (name.into(), vec![step]);
        Self {
            name,
            group,
            plural,
            kind,
            versions,
            steps,
            rollout_hash,
            admission,
            health,
            checks,
            workflows,
            crd,
            becoming,
        }
    }

    /// What the command line calls this kind.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is called: as kubectl takes it, alone, with the group, and with a version and the group.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names = vec![self.name.to_string()];
        for name in bare_names(&self.crd) {
            names.push(format!("{name}.{}", self.group));
            names.extend(self.versions().map(|version| format!("{name}.{version}.{}", self.group)));
            names.push(name);
        }
        names
    }

    /// How objects of another kind become objects of this one, where the definition says so.
    #[must_use]
    pub fn becoming(&self) -> Option<&KindConversion<Self>> {
        self.becoming.as_deref()
    }

    /// The same, taken out of this kind.
    pub fn take_becoming(&mut self) -> Option<KindConversion<Self>> {
        self.becoming.take().map(|becoming| *becoming)
    }

    /// Whether it has objects of a group and kind. Where a kind becomes another one, those of both are its objects.
    pub(crate) fn has(&self, group: &str, kind: &str) -> bool {
        let is_this = self.kind == kind && self.group == group;
        let mut versions = self.versions.iter();
        is_this
            || versions.any(|version| {
                let of_group = version.api_version.split_once('/').map_or("", |(group, _)| group);
                *version.kind == *kind && of_group == group
            })
    }

    /// Whether it is called so, in whichever case.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.names().contains(&name.to_lowercase())
    }

    /// The API group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The kind of its objects.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The plural, as in URLs.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// The versions, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().map(|version| version.name.as_ref())
    }

    /// The version that is stored, as the CRD says.
    #[must_use]
    pub fn storage(&self) -> &str {
        &self.versions.storage().name
    }

    /// The `CustomResourceDefinition` as the definition gives it.
    #[must_use]
    pub fn crd(&self) -> &Value {
        &self.crd
    }

    /// What happens between the versions, oldest first.
    #[must_use]
    pub fn steps(&self) -> Vec<StepSummary> {
        self.steps.iter().map(Step::summary).collect()
    }

    /// The version whose shape the rollout hash is made of, if there is a rollout hash.
    #[must_use]
    pub fn hash_version(&self) -> Option<&str> {
        self.rollout_hash.as_ref().map(|rollout| self.version_at(rollout.at).name.as_ref())
    }

    /// The rollout hash in one line, if there is one.
    #[must_use]
    pub fn rollout(&self) -> Option<String> {
        let HashedFields { of, recipe, .. } = self.rollout_hash.as_ref()?;
        let at = self.hash_version()?;
        Some(match self.force_annotation() {
            Some(force) => format!("{of} at {at}, recipe {recipe}, forced by annotation {force}"),
            None => format!("{of} at {at}, recipe {recipe}"),
        })
    }

    /// What tells the recipe of the rollout hash from others: it changes with the fields that count, those that are
    /// excepted, the defaults and the annotation, and so do hashes.
    #[must_use]
    pub fn hash_recipe(&self) -> Option<&str> {
        self.rollout_hash.as_ref().map(|rollout| rollout.recipe.as_str())
    }

    /// The annotation that the rollout hash is stamped as, if there is a rollout hash.
    #[must_use]
    pub fn hash_annotation(&self) -> Option<String> {
        self.rollout_hash.as_ref().map(|_| format!("{}/rollout-hash", self.group))
    }

    /// The label that says which controller version manages an object.
    #[must_use]
    pub fn version_label(&self) -> &str {
        &self.admission.version_label
    }

    /// Namespace and name of the Lease that a controller version holds while it runs, where the definition names them.
    #[must_use]
    pub fn controller_lease(&self, version: &str) -> Option<(String, String)> {
        self.admission.lease.as_ref().map(|lease| lease.of(version))
    }

    /// The annotation that forces a rollout, if there is one.
    #[must_use]
    pub fn force_annotation(&self) -> Option<&str> {
        self.rollout_hash.as_ref()?.force.as_deref()
    }

    pub(crate) fn version(&self, name: &str) -> Option<VersionIndex> {
        self.versions.named(name)
    }

    /// The version of an index, which this kind has given.
    pub(crate) fn version_at(&self, index: VersionIndex) -> &Version {
        self.versions.at(index)
    }

    /// How much its conversions add to objects.
    pub(crate) fn growth(&self) -> Growth {
        Growth::of(&self.steps)
    }

    /// What its conversions look into.
    pub(crate) fn opened(&self) -> AccessedFields {
        AccessedFields::of(&self.steps)
    }

    /// The annotation that holds what only this version can say, on an object of another one. Where there is but one
    /// version there is none.
    pub(crate) fn kept_annotation(&self, version: VersionIndex) -> Option<&str> {
        let leading = self.step_to(version).map(|step| &step.kept.newer);
        leading.or_else(|| self.steps.first().map(|step| &step.kept.older)).map(String::as_str)
    }

    /// The step that leads to a version from the one before. The oldest has none.
    pub(crate) fn step_to(&self, index: VersionIndex) -> Option<&Step> {
        self.steps.get(index.step()?)
    }

    /// The names of the versions in which each of some fields says what it says in the newest one, oldest first.
    pub(crate) fn versions_alike(&self, fields: &[&Path]) -> Vec<String> {
        let newest = self.versions.newest();
        let is_alike = |index: VersionIndex, field: &Path| {
            let has_it = || self.version_at(index).schema.look(field).is_ok();
            let is_metadata = field.names().first().is_some_and(|name| **name == *"metadata");
            is_metadata || (has_it() && self.steps_between(index, newest).all(|(_, step)| step.leaves_alone(field)))
        };
        let alike = self.versions.indices().filter(|index| fields.iter().all(|field| is_alike(*index, field)));
        alike.map(|index| self.version_at(index).name.to_string()).collect()
    }

    /// The steps from one version to another, in the order they are taken, each with the side that it leads to.
    pub(crate) fn steps_between(&self, from: VersionIndex, to: VersionIndex) -> impl Iterator<Item = (Side, &Step)> {
        let between =
            |from: VersionIndex, to: VersionIndex| self.steps.iter().take(to.step_count()).skip(from.step_count());
        let up = between(from, to).map(|step| (Side::Newer, step));
        up.chain(between(to, from).rev().map(|step| (Side::Older, step)))
    }
}

fn steps(
    spec: &DefinitionSpec,
    versions: &Versions,
    rollout: Option<&HashedFields>,
    problems: &mut Problems,
) -> Vec<Step> {
    let hashed = rollout.map(|rollout| rollout.at);
    let status = spec.rollout_status.as_ref().map(|status| (&status.value, line(status)));
    if let Some((_, at_line)) = status.filter(|_| rollout.is_none()) {
        problems.add(at_line, "rolloutStatus: rolloutHash is missing: add the recipe of the hash");
        return Vec::new();
    }
    let mut steps = Vec::new();
    for (step, (older, newer, index)) in spec.steps.iter().zip(versions.neighbours()) {
        let status = status.filter(|_| hashed == Some(index));
        steps.push(Step::compile(step, older, newer, status, problems));
    }
    chain::check(&steps, problems);
    if let Some((_, at_line)) = status.filter(|_| hashed.and_then(VersionIndex::step).is_none()) {
        problems.add(at_line, "rolloutStatus: no step leads to the version that is hashed");
    }
    steps
}
