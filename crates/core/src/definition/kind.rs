//! A kind: its versions, the steps between them, and how it is loaded.

use std::io;
use std::sync::Arc;

use serde_json::Value;

use super::accessed_fields::AccessedFields;
use super::definition_spec::{DefinitionSpec, only_document};
use super::growth::Growth;
use super::made_up_values::made_up_values;
use super::path::Path;
use super::problems::{BadDefinition, Problems, Warning};
use super::replaces::{Bridge, KindConversion, ReplacesSpec};
use super::schema::Schema;
use super::step::{Step, StepSummary};
use super::version::{Version, VersionIndex, Versions};
use super::yaml::Node;
use super::{
    admission::Admission,
    built_in::EMBEDDED,
    crd::{Crd, bare_names},
    object_lifetimes,
    rollout_hash::HashedFields,
    side::Side,
};

/// A compiled kind: its versions and the steps between them.
#[derive(Debug)]
pub struct Kind {
    pub(crate) name: Arc<str>,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) versions: Versions,
    /// Each step leads from a version to the next newer version, oldest first.
    pub(crate) steps: Vec<Step>,
    pub(crate) rollout_hash: Option<HashedFields>,
    /// The rules for labels, immutable fields and upgrades.
    pub admission: Admission,
    /// The file name and the document of the definition.
    source: (String, Arc<Node>),
    is_namespaced: bool,
    pub(crate) crd: Value,
    lenient_crd: Option<Value>,
    /// How objects of another kind are replaced by objects of this kind.
    becoming: Option<Box<KindConversion<Self>>>,
    warnings: Vec<Warning>,
}

impl Kind {
    /// Reads and checks a definition. `read` returns the text of the CRD file that the definition names. `file` is the
    /// name of the definition in messages.
    ///
    /// # Errors
    /// All problems of the definition, each with its place.
    pub fn load(
        file: &str,
        text: &str,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
    ) -> Result<Self, BadDefinition> {
        let mut problems = Problems::new(file);
        let document = only_document(text, &mut problems);
        let kind = document.and_then(|document| Self::compile(text, document, read, &mut problems));
        problems.into_result(kind)
    }

    /// Reads and checks a definition and its CRD, both as YAML or JSON. Ignores the file that the definition names
    /// under `crd`. `definition` is the file name in messages.
    ///
    /// # Errors
    /// All problems of the definition, each with its line.
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

    /// Returns the built-in definitions.
    ///
    /// # Errors
    /// None in a build that passed its tests.
    pub fn embedded() -> Result<Vec<Self>, BadDefinition> {
        EMBEDDED.iter().map(|(file, text, crd)| Self::load(file, text, &mut |_| Ok((*crd).to_owned()))).collect()
    }

    pub(super) fn compile(
        text: &str,
        document: Node,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let spec = DefinitionSpec::read(text, &document, problems)?;
        let mut crd = Crd::read(&spec.crd, read, problems)?;
        crd.allow_absences(&spec.steps);
        let versions = crd.versions(spec.crd.line, &spec.steps, problems)?;
        let rollout_hash = match &spec.rollout_hash {
            Some(spec) => Some(spec.value.compile(&versions, spec.line, problems)?),
            None => None,
        };
        let steps = steps(&spec, &versions, rollout_hash.as_ref(), problems);
        let warnings: Vec<Warning> = steps.iter().flat_map(made_up_values).collect();
        if spec.strict {
            warnings.iter().for_each(|warning| problems.add(warning.line, warning.message.clone()));
        }
        let admission = match &spec.admission {
            Some(spec) => Admission::compile(spec, (&crd.group, &crd.kind), &versions, problems)?,
            None => Admission::none(&crd.group),
        };
        let becoming = match &spec.replaces {
            Some(spec) => Some(Box::new(ReplacesSpec::compile(spec, &crd, read, problems)?.map(Self::bridging))),
            None => None,
        };
        let is_namespaced = crd.is_namespaced();
        Some(Self {
            name: spec.name.unwrap_or_else(|| crd.kind.to_lowercase()).into(),
            group: crd.group,
            plural: crd.plural,
            kind: crd.kind,
            versions,
            steps,
            rollout_hash,
            admission,
            source: (problems.file().to_owned(), Arc::new(document)),
            is_namespaced,
            crd: crd.document,
            lenient_crd: crd.lenient,
            becoming,
            warnings,
        })
    }

    /// The file name and the document of the definition. The parts that only rollouts need are read from it.
    #[must_use]
    pub fn definition(&self) -> (&str, &Node) {
        (&self.source.0, &self.source.1)
    }

    /// Returns whether objects of this kind have a namespace.
    #[must_use]
    pub fn is_namespaced(&self) -> bool {
        self.is_namespaced
    }

    /// The schema of the newest version.
    #[must_use]
    pub fn newest_schema(&self) -> &Schema {
        &self.versions.at(self.versions.newest()).schema
    }

    /// The doubtful parts of the definition, in the order of the steps. A definition with `strict: true` has none.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns a kind that treats two kinds as its versions.
    fn bridging(bridge: Bridge) -> Self {
        let Bridge { name, group, kind, plural, versions, step, is_namespaced, admission, crd } = bridge;
        let (name, steps) = (name.into(), vec![step]);
        Self {
            name,
            group,
            plural,
            kind,
            versions,
            steps,
            rollout_hash: None,
            admission,
            source: Default::default(),
            is_namespaced,
            crd,
            lenient_crd: None,
            becoming: None,
            warnings: Vec::new(),
        }
    }

    /// The name of the kind on the command line.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns all names that kubectl accepts for this kind: alone, with the group, and with version and group.
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

    /// How objects of another kind are replaced by objects of this kind, if the definition has that.
    #[must_use]
    pub fn becoming(&self) -> Option<&KindConversion<Self>> {
        self.becoming.as_deref()
    }

    /// The facts of the kind conversion: name, field with the name of the Secret, and key in the Secret.
    pub fn secret_facts(&self) -> impl Iterator<Item = (&str, &Path, &str)> {
        let steps = self.becoming.iter().flat_map(|becoming| &becoming.bridge().steps);
        let facts = steps.flat_map(|step| &step.level.facts);
        facts.map(|fact| (fact.name.as_str(), &fact.secret.path, fact.key.as_str()))
    }

    /// Takes the kind conversion out of this kind.
    pub fn take_conversion(&mut self) -> Option<KindConversion<Self>> {
        self.becoming.take().map(|becoming| *becoming)
    }

    /// Returns whether objects of a group and kind belong to this kind. With a kind conversion, both kinds belong.
    pub(crate) fn has(&self, group: &str, kind: &str) -> bool {
        let is_this = self.kind == kind && self.group == group;
        let mut versions = self.versions.iter();
        is_this
            || versions.any(|version| {
                let of_group = version.api_version.split_once('/').map_or("", |(group, _)| group);
                *version.kind == *kind && of_group == group
            })
    }

    /// Returns whether a name denotes this kind. Ignores case.
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

    /// The storage version of the CRD.
    #[must_use]
    pub fn storage(&self) -> &str {
        &self.versions.storage().name
    }

    /// The `CustomResourceDefinition` as the definition contains it.
    #[must_use]
    pub fn crd(&self) -> &Value {
        &self.crd
    }

    /// The `CustomResourceDefinition` without the requirements of fields that objects may lack, as accepted by the
    /// definition.
    #[must_use]
    pub fn lenient_crd(&self) -> &Value {
        self.lenient_crd.as_ref().unwrap_or(&self.crd)
    }

    /// Summarizes the steps between the versions, oldest first.
    #[must_use]
    pub fn steps(&self) -> Vec<StepSummary> {
        self.steps.iter().map(Step::summary).collect()
    }

    /// The version whose fields the rollout hash covers, if there is a rollout hash.
    #[must_use]
    pub fn hash_version(&self) -> Option<&str> {
        self.rollout_hash.as_ref().map(|rollout| self.version_at(rollout.at).name.as_ref())
    }

    /// Describes the rollout hash in one line, if there is one.
    #[must_use]
    pub fn rollout(&self) -> Option<String> {
        let HashedFields { of, recipe, .. } = self.rollout_hash.as_ref()?;
        let at = self.hash_version()?;
        Some(match self.force_annotation() {
            Some(force) => format!("{of} at {at}, recipe {recipe}, forced by annotation {force}"),
            None => format!("{of} at {at}, recipe {recipe}"),
        })
    }

    /// The fingerprint of the recipe of the rollout hash. It changes with the hashed fields, the exceptions, the
    /// defaults and the annotation. A changed recipe changes all hashes.
    #[must_use]
    pub fn hash_recipe(&self) -> Option<&str> {
        self.rollout_hash.as_ref().map(|rollout| rollout.recipe.as_str())
    }

    /// The annotation that contains the rollout hash, if there is one.
    #[must_use]
    pub fn hash_annotation(&self) -> Option<String> {
        self.rollout_hash.as_ref().map(|_| format!("{}/rollout-hash", self.group))
    }

    /// The controller-version label of objects.
    #[must_use]
    pub fn version_label(&self) -> &str {
        &self.admission.version_label
    }

    /// Namespace and name of the Lease that a controller version holds while it runs, if the definition names them.
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

    /// Returns the version of an index of this kind.
    pub(crate) fn version_at(&self, index: VersionIndex) -> &Version {
        self.versions.at(index)
    }

    /// Returns how much the conversions add to objects.
    pub(crate) fn growth(&self) -> Growth {
        Growth::of(&self.steps)
    }

    /// Returns the fields that the conversions parse.
    pub(crate) fn opened(&self) -> AccessedFields {
        AccessedFields::of(&self.steps)
    }

    /// The kept annotation of a version: it stores values that only this version can represent on objects of another
    /// version. `None` if the kind has one version.
    pub(crate) fn kept_annotation(&self, version: VersionIndex) -> Option<&str> {
        let leading = self.step_to(version).map(|step| &step.kept.newer);
        leading.or_else(|| self.steps.first().map(|step| &step.kept.older)).map(String::as_str)
    }

    /// The step that leads to a version from the previous version. `None` for the oldest.
    pub(crate) fn step_to(&self, index: VersionIndex) -> Option<&Step> {
        self.steps.get(index.step()?)
    }

    /// Returns the versions, oldest first, in which each of some fields has the same meaning as in the newest version.
    pub fn versions_alike(&self, fields: &[&Path]) -> Vec<String> {
        let newest = self.versions.newest();
        let is_alike = |index: VersionIndex, field: &Path| {
            let has_it = || self.version_at(index).schema.find_readable(field).is_ok();
            let is_metadata = field.names().first().is_some_and(|name| **name == *"metadata");
            is_metadata || (has_it() && self.steps_between(index, newest).all(|(_, step)| step.leaves_alone(field)))
        };
        let alike = self.versions.indices().filter(|index| fields.iter().all(|field| is_alike(*index, field)));
        alike.map(|index| self.version_at(index).name.to_string()).collect()
    }

    /// Returns the steps from one version to another, in order, each with the side that it leads to.
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
    let status = spec.rollout_status.as_ref().map(|status| (&status.value, status.line));
    if let Some((_, at_line)) = status.filter(|_| rollout.is_none()) {
        problems.add(at_line, "rolloutStatus: rolloutHash is missing: add the recipe of the hash");
        return Vec::new();
    }
    let mut steps = Vec::new();
    for (step, (older, newer, index)) in spec.steps.iter().zip(versions.neighbours()) {
        let status = status.filter(|_| hashed == Some(index));
        steps.push(Step::compile(step, older, newer, status, problems));
    }
    object_lifetimes::check(&steps, problems);
    if let Some((_, at_line)) = status.filter(|_| hashed.and_then(VersionIndex::step).is_none()) {
        problems.add(at_line, "rolloutStatus: no step leads to the hashed version");
    }
    steps
}
