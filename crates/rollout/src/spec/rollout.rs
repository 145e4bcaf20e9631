//! A StagedRollout that is validated against the definition of its kind.

use super::checks::RolloutChecks;
use super::freeze::{Freeze, Frozen};
use super::kinds::SourceAndTargetKind;
use super::waves::{ObjectSelector, Wave, WaveSide};
use super::window::RolloutWindow;
use crate::definition::health::Health;
use crate::definition::rollout_versions::RolloutVersions;
use crate::definition::workflows::{JobSource, ObjectAction, Workflow, WorkflowAct, WorkflowJob, WorkflowStep};
use pointsman_core::definition::admission::{
    ControllerLease, ObservedPart, OtherSource, PartVersions, RoleSource, UpgradePath,
};
use pointsman_core::definition::{Path, upgrade};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// A validated StagedRollout: objects, versions and pace.
#[derive(Clone, Debug)]
pub struct Rollout {
    pub(crate) name: String,
    /// Empty if the object is not in the cluster yet.
    pub(crate) uid: String,
    /// `metadata.generation`; `None` for a file.
    pub(crate) generation: Option<i64>,
    pub(crate) label: String,
    pub(crate) from: Option<String>,
    pub(crate) to: String,
    pub(crate) chosen: ObjectSelector,
    /// The sort field of the objects, with its values in order.
    pub(crate) order: Option<(Path, Vec<String>)>,
    pub(crate) waves: Vec<Wave>,
    pub(crate) windows: Vec<RolloutWindow>,
    pub(crate) freezes: Vec<Freeze>,
    /// Titles of prioritized objects, in order.
    pub(crate) prioritized: Vec<String>,
    pub(crate) max_unhealthy: usize,
    pub(crate) timeout: Duration,
    pub(crate) on_failure: OnFailure,
    /// Accepted risks and irreversible steps, by name.
    pub(crate) accepts: Vec<String>,
    /// The state word for a begun rollout.
    pub(crate) started: String,
    /// True if each state word must be written before the next one.
    pub(crate) writes_state_labels: bool,
    pub(crate) take_over: bool,
    /// True if objects are held until their turn.
    pub(crate) hold: bool,
    pub(crate) paused: bool,
    pub(crate) direction: Direction,
    pub(crate) health: Health,
    pub(crate) path: Option<UpgradePath>,
    pub(crate) lease: Option<ControllerLease>,
    /// Field managers by controller version.
    pub(crate) managers: BTreeMap<String, String>,
    /// Versions of the kind in which inspected fields are the same, oldest first.
    pub(crate) versions: Vec<String>,
    pub(crate) checks: RolloutChecks,
    /// The CRD of a storage migration.
    pub(crate) stores: Option<String>,
    /// The two kinds, if objects are converted to another kind.
    pub(crate) pair: Option<Box<SourceAndTargetKind>>,
    /// Sources of running versions, part by part.
    pub(crate) observe: Vec<ObservedPart>,
    /// The source of an object's role.
    pub(crate) role: Option<RoleSource>,
}

/// The reaction to a failed object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OnFailure {
    /// Pauses until a resume.
    Pause,
    /// Rolls the object back; others continue.
    Undo,
    /// Undoes all moves.
    UndoAll,
}

/// The direction of a fleet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub enum Direction {
    /// To the new version.
    #[default]
    Forward,
    /// Back to the state before the rollout.
    Undo,
    /// Objects in flight finish; no further object moves.
    Abort,
}

impl Rollout {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The source version of objects; `None` for any.
    #[must_use]
    pub fn from(&self) -> Option<&str> {
        self.from.as_deref()
    }

    /// The target version of objects.
    #[must_use]
    pub fn to(&self) -> &str {
        &self.to
    }

    /// The version in which to read its objects: the storage version, which needs no conversion, if all inspected
    /// fields are the same there. Otherwise the newest served such version.
    #[must_use]
    pub fn read_in<'v>(&'v self, stored: &str, served: &[&str]) -> Option<&'v str> {
        readable(&self.versions, stored, served)
    }

    /// Plural and group of the source kind, if objects are converted to the kind of the definition.
    #[must_use]
    pub fn source(&self) -> Option<(&str, &str)> {
        let resource = &self.pair.as_ref()?.source.resource;
        Some((&resource.plural, &resource.group))
    }

    /// The resource of its objects, as in kubectl.
    pub(crate) fn resource(&self) -> String {
        self.source().map_or_else(|| self.checks.crd.clone(), |(plural, group)| format!("{plural}.{group}"))
    }

    /// `apiVersion` and `kind` of the source kind.
    #[must_use]
    pub fn source_kind(&self) -> Option<(&str, &str)> {
        let source = &self.pair.as_ref()?.source;
        Some((&source.api_version, &source.kind))
    }

    /// The reason why two controllers on one object would be undetected; `None` if detectable.
    #[must_use]
    pub fn undetectable_controllers(&self) -> Option<String> {
        let manager = |version: &str| self.managers.get(version);
        let known = self.from.as_deref().is_none_or(|from| manager(from).is_some()) && manager(&self.to).is_some();
        if !known {
            let from = self.from.as_deref().map_or_else(String::new, |from| format!("{from} and "));
            return Some(format!("the definition names no field managers of {from}{} under `managers`", self.to));
        }
        let same = self.from.as_deref().and_then(manager).filter(|from| Some(*from) == manager(&self.to))?;
        Some(format!("both write as {same}"))
    }

    /// The field manager of the old controller, whose writes after the move indicate a conflict; `None` if equal to the
    /// new one.
    pub(crate) fn old_manager(&self, was: &str) -> Option<&str> {
        let (old, new) = (self.managers.get(was)?, self.managers.get(&self.to)?);
        (old != new).then_some(old)
    }

    /// The field manager that must write to an object of this version: from `managers`, otherwise from `seen`. `None`
    /// if no write is awaited.
    pub(crate) fn seen_manager(&self, version: Option<&str>) -> Option<&str> {
        let default = self.health.seen.as_deref()?;
        Some(version.and_then(|version| self.managers.get(version)).map_or(default, String::as_str))
    }

    /// True if writes of a field manager may be awaited, in any direction.
    pub(crate) fn waits_for_manager(&self, manager: &str) -> bool {
        let is_named = || self.managers.values().any(|named| named == manager);
        self.health.seen.as_deref().is_some_and(|seen| seen == manager || is_named())
    }

    /// The names of its waves, in order.
    pub fn waves(&self) -> impl Iterator<Item = &str> {
        self.waves.iter().map(|wave| wave.name.as_str())
    }

    /// The time zones of its windows, by IANA name.
    pub fn zones(&self) -> impl Iterator<Item = &str> {
        self.windows.iter().map(|window| window.zone.as_str())
    }

    /// Resources that other clients cannot write during the rollout.
    pub fn frozen(&self) -> impl Iterator<Item = Frozen<'_>> {
        self.freezes.iter().flat_map(Freeze::frozen)
    }

    /// The same, as written.
    pub(crate) fn freezes(&self) -> &[Freeze] {
        &self.freezes
    }

    /// True if a wave requires approval on this side.
    #[must_use]
    pub fn requires_approval(&self, wave: &str, side: WaveSide) -> bool {
        self.waves.iter().any(|one| one.name == wave && one.gate(side).approval)
    }

    /// Checks that moved objects can be rolled back, unless the StagedRollout accepts the risk.
    ///
    /// # Errors
    /// The refused downgrade, with the remedy.
    pub fn way_back(&self) -> Result<(), String> {
        match self.no_way_back() {
            Some(why) if !self.accepts(NO_WAY_BACK) => {
                Err(format!("no way back: {why}. To accept this risk, set acceptedRisks: [{NO_WAY_BACK}]"))
            }
            _ => Ok(()),
        }
    }

    /// The reason why objects cannot be rolled back, if so.
    #[must_use]
    pub fn no_way_back(&self) -> Option<String> {
        self.hop_refused(&self.to, self.from.as_deref()?)
    }

    /// The waves of an object, in order: waves that have `begun`, regardless of its labels, and for each other workflow
    /// the first wave that selects it.
    pub(crate) fn waves_of(
        &self,
        namespace: Option<&str>,
        labels: &BTreeMap<String, String>,
        begun: impl Fn(&str) -> bool,
    ) -> Vec<usize> {
        fn name(wave: &Wave) -> Option<&str> {
            wave.workflow.as_ref().map(|workflow| workflow.name.as_str())
        }
        let begun = self.waves.iter().enumerate().filter(|(_, wave)| begun(&wave.name) && !wave.is_run);
        let mut chosen: Vec<(usize, Option<&str>)> = begun.map(|(at, wave)| (at, name(wave))).collect();
        for (at, wave) in self.waves.iter().enumerate().filter(|(_, wave)| !wave.is_run) {
            let workflow = name(wave);
            let is_new = !chosen.iter().any(|(_, known)| *known == workflow);
            if is_new && wave.chosen.holds(namespace, labels) {
                let is_label = workflow.is_none();
                chosen.push((at, workflow));
                if is_label {
                    break;
                }
            }
        }
        chosen.sort_unstable();
        chosen.into_iter().map(|(at, _)| at).collect()
    }

    /// The named parts of its objects that run a version each; empty without parts.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        // The source kind has no named parts.
        self.observe.iter().filter(|_| self.pair.is_none()).filter_map(|part| part.name.as_deref())
    }

    /// True if the definition has a source for the role of objects.
    #[must_use]
    pub fn knows_roles(&self) -> bool {
        self.role.is_some()
    }

    /// The running versions in an object's own fields, part by part.
    pub(crate) fn running(&self, object: &Value) -> Vec<PartVersions> {
        self.observe.iter().map(|part| part.own(object)).collect()
    }

    /// True if other objects contain the running versions: this information is as old as their last lookup.
    #[must_use]
    pub fn has_external_versions(&self) -> bool {
        self.others().next().is_some()
    }

    /// The other objects that contain running versions.
    pub(crate) fn others(&self) -> impl Iterator<Item = &OtherSource> {
        self.observe.iter().flat_map(ObservedPart::others)
    }

    /// True if the StagedRollout accepts a risk or an irreversible step, by name.
    #[must_use]
    pub fn accepts(&self, risk: &str) -> bool {
        self.accepts.iter().any(|accepted| accepted == risk)
    }

    /// Irreversible steps with reasons, in order of first occurrence.
    #[must_use]
    pub fn irreversible(&self) -> Vec<(&str, &str)> {
        let mut all: Vec<(&str, &str)> = Vec::new();
        for step in self.workflow_steps() {
            let why = step.irreversible.as_deref();
            all.extend(
                why.filter(|_| !all.iter().any(|(name, _)| *name == step.name)).map(|why| (step.name.as_str(), why)),
            );
        }
        all
    }

    /// The steps that end a rollback: those of [`Self::irreversible`], except the deletion of an object that can be
    /// recreated.
    #[must_use]
    pub fn points_of_no_return(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for workflow in self.waves.iter().filter_map(|wave| wave.workflow.as_ref()) {
            let returns = |step: &WorkflowStep| {
                workflow.returns()
                    && step.object_step().is_some_and(|one| matches!(one.act, ObjectAction::DeleteSource))
            };
            let stops = workflow.steps.iter().filter(|step| step.irreversible.is_some() && !returns(step));
            for step in stops {
                if !all.contains(&step.name.as_str()) {
                    all.push(&step.name);
                }
            }
        }
        all
    }

    /// Irreversible steps without acceptance, as messages with the remedy.
    pub(crate) fn unaccepted(&self) -> Vec<String> {
        self.irreversible().into_iter().filter_map(|(name, why)| self.risk(name, why)).collect()
    }

    /// The same for one step, before it is applied.
    pub(crate) fn not_accepted(&self, step: &WorkflowStep) -> Option<String> {
        self.risk(&step.name, step.irreversible.as_deref()?)
    }

    fn risk(&self, name: &str, why: &str) -> Option<String> {
        (!self.accepts(name))
            .then(|| format!("step {name} cannot be undone: {why}. To accept this risk, set acceptedRisks: [{name}]"))
    }

    /// True if its objects are held until their turn.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.hold
    }

    /// True if objects have workflows, and the version label does not show their progress.
    #[must_use]
    pub fn has_workflows(&self) -> bool {
        self.waves.iter().any(|wave| wave.workflow.is_some() && !wave.is_run)
    }

    /// True if its steps create objects. The API server may still create one, for the duration of a call, after the
    /// requesting runner stopped.
    #[must_use]
    pub fn makes_objects(&self) -> bool {
        self.workflow_steps().any(|step| match &step.act {
            WorkflowAct::Job { .. } => true,
            WorkflowAct::OnObjects(object_step) => {
                matches!(object_step.act, ObjectAction::Convert | ObjectAction::Recreate(_))
            }
            WorkflowAct::Set(_) | WorkflowAct::Wait { .. } => false,
        })
    }

    /// One Job for each template named in steps.
    pub(crate) fn templates(&self) -> Vec<&WorkflowJob> {
        let mut all: Vec<&WorkflowJob> = Vec::new();
        for step in self.workflow_steps() {
            let WorkflowAct::Job { job, undo } = &step.act else { continue };
            for job in [Some(job), undo.as_ref()].into_iter().flatten() {
                let is_template = matches!(job.source, JobSource::Template { .. });
                if is_template && !all.iter().any(|known| known.source == job.source) {
                    all.push(job);
                }
            }
        }
        all
    }

    /// True if a step runs a Job.
    pub(crate) fn runs_jobs(&self) -> bool {
        self.workflow_steps().any(|step| matches!(step.act, WorkflowAct::Job { .. }))
    }

    /// True if converted objects can be recreated.
    pub(crate) fn returns(&self) -> bool {
        self.waves.iter().filter_map(|wave| wave.workflow.as_ref()).any(Workflow::returns)
    }

    /// True if a wave has a workflow or a run.
    pub(crate) fn has_steps(&self) -> bool {
        self.waves.iter().any(|wave| wave.workflow.is_some())
    }

    /// All steps, wave by wave.
    pub(crate) fn workflow_steps(&self) -> impl Iterator<Item = &WorkflowStep> {
        self.waves.iter().filter_map(|wave| wave.workflow.as_ref()).flat_map(|workflow| &workflow.steps)
    }

    /// The maximum number of writes per object on its workflows.
    #[must_use]
    pub fn steps(&self) -> usize {
        let workflows = self.waves.iter().filter(|wave| !wave.is_run).filter_map(|wave| wave.workflow.as_ref());
        workflows.map(|workflow| workflow.steps.len()).sum()
    }

    /// Expands `{from}` and `{to}` in a text.
    pub(crate) fn filled(&self, text: &str) -> String {
        RolloutVersions { from: self.from.as_deref(), to: &self.to }.filled(text)
    }

    /// The reason why the upgrade path forbids a change of version; `None` if allowed or without path.
    pub(crate) fn hop_refused(&self, from: &str, to: &str) -> Option<String> {
        let path = self.path.as_ref()?;
        // A value that is no version is outside of the path: it is adopted, as in /validate.
        let (old, new) = (upgrade::version(from)?, upgrade::version(to)?);
        let v = if from.starts_with('v') { "v" } else { "" };
        path.path.allow(&old, &new).err().map(|refused| refused.refusal_message(|version| format!("{v}{version}")))
    }
}

/// The accepted risk of a rollout without rollback.
pub(crate) const NO_WAY_BACK: &str = "no-way-back";

/// The storage version, which needs no conversion, if it is among `alike`: the versions, oldest first, in which the
/// inspected fields are the same. Otherwise the newest served version among them.
pub(crate) fn readable<'v>(alike: &'v [String], stored: &str, served: &[&str]) -> Option<&'v str> {
    let mut readable = alike.iter().map(String::as_str).filter(|version| served.contains(version)).rev();
    readable.clone().find(|version| *version == stored).or_else(|| readable.next())
}

/// Whether the API server requires additional rights to change owner references, by its admission plugin
/// `OwnerReferencesPermissionEnforcement`. Source: `kubernetes plugin/pkg/admission/gc/gc_admission.go`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OwnerReferences {
    /// Additional rights are not required (the default).
    Free,
    /// Additional rights are required.
    Guarded,
}
