//! The `admission` block of a definition, as written and as compiled.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::controller_lease::ControllerLease;
use super::observe::{ObservedSpec, VersionSource};
use super::observed_part::{ObservedPart, VersionPlace};
use super::prerequisites::{Needs, Prerequisites, PrerequisitesSpec};
use super::role::{RoleSource, RoleSpec};
use super::upgrade_path::{UpgradePath, UpgradePathSpec};
use super::{compiler::RuleCompiler, rule::Rule, rule_spec::RuleSpec};
use crate::definition::gates::{Gate, GateSpec};
use crate::definition::problems::Problems;
use crate::definition::yaml::Spanned;
use crate::{
    apimachinery::{is_label_value, is_qualified_name},
    definition::upgrade::{self, Range},
    definition::{move_effects::ROLLOUT_MANAGER, version::Versions},
};

/// Checks that apply when an object is written, in addition to its schema.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Admission")]
pub(crate) struct AdmissionSpec {
    /// The controller-version label of objects. Defaults to `<group>/controller-version`.
    pub(super) version_label: Option<String>,
    /// The path (of `paths`) that an object must follow from one controller version to the next. Without a path, every
    /// change of version is allowed.
    pub(super) version_path: Option<String>,
    /// Label keys often mistaken for the version label. Writes with such a label are rejected, and the error names the
    /// right label.
    #[serde(default)]
    pub(super) mistaken_labels: Vec<String>,
    /// The Lease that a controller version holds while it runs. A rollout moves objects only while the Leases of the
    /// old and the new version are held.
    pub(super) lease: Option<ControllerLease>,
    /// The field managers of controller versions, by version, if different. A rollout uses the managers to detect two
    /// controllers on the same object.
    #[serde(default)]
    pub(super) managers: BTreeMap<String, String>,
    /// The places of the running version. Without this key, the version label is used. Several places are
    /// several parts. If the places differ, the object runs several versions.
    pub(super) observe: Option<Vec<Spanned<ObservedSpec>>>,
    /// The role of an object, such as `controller` or `worker`, shown next to its versions.
    pub(super) role: Option<Spanned<RoleSpec>>,
    /// The objects with the state of the prerequisites of versions in `paths`.
    pub(super) prerequisites: Option<Spanned<PrerequisitesSpec>>,
    /// Conditions that must hold before another controller version takes over an object.
    #[serde(default)]
    pub(super) handover: Vec<Spanned<GateSpec>>,
    /// Upgrade paths, by name.
    #[serde(default)]
    pub(super) paths: BTreeMap<String, Spanned<UpgradePathSpec>>,
    /// Rules for every controller version.
    #[serde(default)]
    pub(super) rules: Vec<Spanned<RuleSpec>>,
    /// Rules for some controller versions.
    #[serde(default)]
    pub(super) controllers: Vec<Spanned<ControllerRulesSpec>>,
}

/// Rules for some controller versions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ControllerRules")]
pub(super) struct ControllerRulesSpec {
    /// The controller versions: a range such as `>=2.17` or `2.16`.
    pub(super) versions: String,
    /// The rules.
    pub(super) rules: Vec<Spanned<RuleSpec>>,
}

/// The admission rules of a kind.
#[derive(Debug)]
pub struct Admission {
    pub(crate) version_label: String,
    /// The allowed upgrades between controller versions.
    pub version_path: Option<UpgradePath>,
    pub(crate) mistaken_labels: Vec<String>,
    /// The lease of the controller.
    pub lease: Option<ControllerLease>,
    /// The field managers of controllers, with their versions.
    pub managers: BTreeMap<String, String>,
    /// The places that contain the running version, by part. There is at least one. Either every part has a name, or
    /// there is one part without a name.
    pub observe: Vec<ObservedPart>,
    /// The field that shows an active or standby role.
    pub role: Option<RoleSource>,
    /// The objects that an upgrade needs.
    pub prerequisites: Option<Prerequisites>,
    pub(crate) handover: Vec<Gate>,
    pub(crate) rules: Vec<Rule>,
}

impl Admission {
    /// The settings of a kind whose definition has no `admission` block.
    pub(crate) fn none(group: &str) -> Self {
        let version_label = default_label(group);
        Self {
            observe: vec![of_label(&version_label, false)],
            role: None,
            version_label,
            version_path: None,
            mistaken_labels: Vec::new(),
            lease: None,
            managers: BTreeMap::new(),
            prerequisites: None,
            handover: Vec::new(),
            rules: Vec::new(),
        }
    }

    pub(crate) fn compile(
        spec: &Spanned<AdmissionSpec>,
        (group, kind): (&str, &str),
        versions: &Versions,
        problems: &mut Problems,
    ) -> Option<Self> {
        let (at_line, spec) = (spec.line, &spec.value);
        let mut paths = BTreeMap::new();
        for (name, path) in &spec.paths {
            paths.insert(name.clone(), UpgradePath::compile(name, path, problems)?);
        }
        let mut compiler = RuleCompiler::new(versions, &paths, (group, kind), problems);
        let mut rules: Vec<Rule> = spec.rules.iter().filter_map(|rule| compiler.rule(rule, None)).collect();
        for controllers in &spec.controllers {
            let ControllerRulesSpec { versions, rules: more } = &controllers.value;
            match Range::parse(versions) {
                Ok(range) => rules.extend(more.iter().filter_map(|rule| compiler.rule(rule, Some(&range)))),
                Err(error) => {
                    compiler.at(controllers.line).problem(format!("controllers: {error}"));
                }
            }
        }
        let version_path = match &spec.version_path {
            None => None,
            Some(name) => Some(compiler.at(at_line).upgrade_path(name)?),
        };
        let has_path = version_path.is_some();
        let observe = spec.observe.iter().flatten().filter_map(|place| compiler.observed(place, has_path)).collect();
        let role = spec.role.as_ref().and_then(|role| compiler.role(role));
        let handover = spec.handover.iter().filter_map(|gate| compiler.handover(gate)).collect();
        let version_label = spec.version_label.clone().unwrap_or_else(|| default_label(group));
        if !is_qualified_name(&version_label) {
            problems.add(at_line, format!("versionLabel: {version_label:?} is no label key"));
        }
        spec.mistake_labels(&version_label, at_line, problems);
        spec.name_controllers(version_path.as_ref(), at_line, problems);
        Some(Self {
            observe: spec.observed(observe, &version_label, has_path, at_line, problems),
            role,
            prerequisites: spec.prerequisites(&paths, problems),
            mistaken_labels: spec.mistaken_labels.clone(),
            lease: spec.lease.clone(),
            managers: spec.managers.clone(),
            version_label,
            version_path,
            handover,
            rules,
        })
    }
}

impl AdmissionSpec {
    /// The parts of the running version, from these places or else from the version label.
    fn observed(
        &self,
        places: Vec<(Option<String>, VersionPlace)>,
        version_label: &str,
        has_path: bool,
        at_line: u64,
        problems: &mut Problems,
    ) -> Vec<ObservedPart> {
        let Some(specs) = &self.observe else {
            return vec![of_label(version_label, has_path)];
        };
        if specs.is_empty() {
            problems
                .add(at_line, "observe: is empty: remove the key to read the running version from the version label");
        }
        let (of_parts, of_all): (Vec<_>, Vec<_>) = specs.iter().partition(|place| place.value.part.is_some());
        if let Some(nameless) = of_all.first().filter(|_| !of_parts.is_empty()) {
            let why = "observe: this place names no part, but others do: give all places a `part`, or none";
            problems.add(nameless.line, why);
        }
        let mut parts: Vec<ObservedPart> = Vec::new();
        for (name, place) in places {
            if parts.iter().any(|part| part.has(&place)) {
                problems.add(at_line, format!("observe: {} occurs twice", place.id()));
            }
            match parts.iter_mut().find(|part| part.name == name) {
                Some(part) => part.and(place),
                None => parts.push(ObservedPart::at(name, place)),
            }
        }
        parts
    }

    /// The source of the prerequisites of versions.
    fn prerequisites(&self, paths: &BTreeMap<String, UpgradePath>, problems: &mut Problems) -> Option<Prerequisites> {
        let compiled = self.prerequisites.as_ref().and_then(|spec| {
            let compiled = spec.value.compile();
            compiled.map_err(|why| problems.add(spec.line, format!("prerequisites: {why}"))).ok()
        });
        // A problem of the source itself was already reported.
        let is_there = self.prerequisites.is_none() || compiled.is_some();
        for (name, path) in paths.iter().filter(|_| is_there) {
            let at_line = self.paths.get(name).map(|path| path.line).unwrap_or_default();
            for message in Needs::problems(path.needs(), compiled.as_ref()) {
                problems.add(at_line, format!("paths.{name}: {message}"));
            }
            if self.version_path.as_ref() != Some(name)
                && let Some((version, _)) = path.needs().next()
            {
                problems.add(
                    at_line,
                    format!("paths.{name}: {version} has needs, but only the path in `versionPath` supports needs"),
                );
            }
        }
        compiled
    }

    /// Checks the labels that are mistaken for the version label.
    fn mistake_labels(&self, version_label: &str, at_line: u64, problems: &mut Problems) {
        for key in &self.mistaken_labels {
            if !is_qualified_name(key) {
                problems.add(at_line, format!("mistakenLabels: {key:?} is no label key"));
            } else if *key == version_label {
                problems.add(at_line, format!("mistakenLabels: {key} is the version label itself"));
            }
        }
    }

    /// Checks the Leases and field managers of the controller versions.
    fn name_controllers(&self, path: Option<&UpgradePath>, at_line: u64, problems: &mut Problems) {
        let versions = self.managers.keys().map(String::as_str);
        if let Some(message) = self.lease.as_ref().and_then(|lease| lease.problem(versions)) {
            problems.add(at_line, message);
        }
        for (version, manager) in &self.managers {
            if !is_label_value(version) || version.is_empty() {
                problems.add(at_line, format!("managers: {version:?} can be no value of the version label"));
            } else if path.is_some_and(|path| upgrade::version(version).is_none_or(|one| !path.path.knows(&one))) {
                // No rollout uses this version, so the field manager would never be used.
                let named = self.version_path.as_deref().unwrap_or_default();
                problems.add(at_line, format!("managers: the path {named:?} has no version {version:?}"));
            }
            if manager.is_empty() {
                problems.add(at_line, format!("managers: {version}: the name is empty"));
            } else if manager == ROLLOUT_MANAGER {
                let why = "writes the move itself: name the controller";
                problems.add(at_line, format!("managers: {version}: {ROLLOUT_MANAGER} {why}"));
            }
        }
    }
}

/// The version label is the running version of the whole object.
fn of_label(version_label: &str, has_path: bool) -> ObservedPart {
    ObservedPart::at(None, VersionPlace::Own(VersionSource::label(version_label, false, has_path)))
}

/// The version label of kinds whose definition sets none.
fn default_label(group: &str) -> String {
    format!("{group}/controller-version")
}
