//! A StagedRollout that was checked against the definition of its kind.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::checks::RolloutChecks;
use super::object_selector::ObjectSelector;
use super::freeze::{Freeze, Frozen};
use super::kinds::SourceAndTargetKind;
use super::rollout_annotation::RolloutAnnotation;
use super::read_version::readable;
use super::wave::Wave;
use super::wave_gate::WaveSide;
use super::window::RolloutWindow;
use crate::definition::admission::{ControllerLease, ObservedPart, OtherSource, PartVersions, RoleSource, UpgradePath};
use crate::definition::{
    ObjectAction, Health, JobSource, Workflow, WorkflowAct, WorkflowJob, WorkflowStep, Path, RolloutVersions,
};
use crate::upgrade;

/// A StagedRollout, checked: what is moved, from where to where, and how carefully.
#[derive(Clone, Debug)]
pub struct Rollout {
    pub(super) name: String,
    /// Of the object in the cluster; empty for one that is not there yet.
    pub(super) uid: String,
    /// `metadata.generation`; none in a file.
    pub(super) generation: Option<i64>,
    pub(super) label: String,
    pub(super) from: Option<String>,
    pub(super) to: String,
    pub(super) chosen: ObjectSelector,
    /// The field that orders the objects, and its values, the first ones first.
    pub(super) order: Option<(Path, Vec<String>)>,
    pub(super) waves: Vec<Wave>,
    pub(super) windows: Vec<RolloutWindow>,
    pub(super) freezes: Vec<Freeze>,
    /// Titles of objects that go before the others of their waves, the first ones first.
    pub(super) prioritized: Vec<String>,
    pub(super) max_unhealthy: usize,
    pub(super) timeout: Duration,
    pub(super) on_failure: OnFailure,
    /// Risks and points of no return, by name.
    pub(super) accepts: Vec<String>,
    /// The word for that it has begun, and nothing else.
    pub(super) started: String,
    /// Each word for how far it is is told before the next one.
    pub(super) tells_states: bool,
    pub(super) take_over: bool,
    /// Objects are held until their turn.
    pub(super) hold: bool,
    pub(super) paused: bool,
    pub(super) direction: Direction,
    pub(super) health: Health,
    pub(super) path: Option<UpgradePath>,
    pub(super) lease: Option<ControllerLease>,
    /// Field managers by controller version.
    pub(super) managers: BTreeMap<String, String>,
    /// Versions of the kind in which all that is looked at is the same, oldest first.
    pub(super) versions: Vec<String>,
    pub(super) checks: RolloutChecks,
    /// The CRD by which its objects are stored anew, where that is what it does.
    pub(super) stores: Option<String>,
    /// The two kinds, where its objects become others.
    pub(super) pair: Option<Box<SourceAndTargetKind>>,
    /// Where objects say which versions run of them, part by part.
    pub(super) observe: Vec<ObservedPart>,
    /// Where objects say what they are there for.
    pub(super) role: Option<RoleSource>,
}

/// What happens after an object failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum OnFailure {
    /// Nothing more is moved until somebody has looked.
    Pause,
    /// That object is taken back; the others go on.
    Undo,
    /// Every object that was moved is taken back.
    UndoAll,
}

/// Where the fleet goes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub enum Direction {
    /// To the new version.
    #[default]
    Forward,
    /// Every object that was moved goes back to what it was.
    Undo,
    /// What is under way ends; nothing more is moved.
    Abort,
}

impl Rollout {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version that objects come from; none where any will do.
    #[must_use]
    pub fn from(&self) -> Option<&str> {
        self.from.as_deref()
    }

    /// The version that objects go to.
    #[must_use]
    pub fn to(&self) -> &str {
        &self.to
    }

    /// The version in which its objects are best read: the one that is stored, which nobody has to convert, where all
    /// that is looked at is the same there; else the newest such one that is served.
    #[must_use]
    pub fn read_in<'v>(&'v self, stored: &str, served: &[&str]) -> Option<&'v str> {
        readable(&self.versions, stored, served)
    }

    /// Plural and group of the objects that it is about, where they are not of the kind of the definition: those of the
    /// kind that goes.
    #[must_use]
    pub fn source(&self) -> Option<(&str, &str)> {
        let resource = &self.pair.as_ref()?.source.resource;
        Some((&resource.plural, &resource.group))
    }

    /// Whether it has left a mark. One that leads elsewhere is none of its own, whoever it names.
    pub(super) fn has_left(&self, mark: &RolloutAnnotation) -> bool {
        mark.rollout == self.uid && mark.to == self.to
    }

    /// What kubectl calls the resource of its objects.
    pub(super) fn resource(&self) -> String {
        self.source().map_or_else(|| self.checks.crd.clone(), |(plural, group)| format!("{plural}.{group}"))
    }

    /// The same, as `apiVersion` and `kind` have it.
    #[must_use]
    pub fn source_kind(&self) -> Option<(&str, &str)> {
        let source = &self.pair.as_ref()?.source;
        Some((&source.api_version, &source.kind))
    }

    /// Why it would not be found out that two controllers act on one object; nothing where it would.
    #[must_use]
    pub fn cannot_tell_controllers(&self) -> Option<String> {
        let manager = |version: &str| self.managers.get(version);
        let known = self.from.as_deref().is_none_or(|from| manager(from).is_some()) && manager(&self.to).is_some();
        if !known {
            let from = self.from.as_deref().map_or_else(String::new, |from| format!("{from} and "));
            return Some(format!("the definition names no field managers of {from}{} under `managers`", self.to));
        }
        let same = self.from.as_deref().and_then(manager).filter(|from| Some(*from) == manager(&self.to))?;
        Some(format!("both write as {same}"))
    }

    /// The field manager that would go on writing to an object after its move, if its old controller did; nothing where
    /// that cannot be told from the new one.
    pub(super) fn old_manager(&self, was: &str) -> Option<&str> {
        let (old, new) = (self.managers.get(was)?, self.managers.get(&self.to)?);
        (old != new).then_some(old)
    }

    /// The field manager that has to write to an object which goes to a version: the one that `managers` names for the
    /// version, else the one of `seen`. Nothing where no write is waited for.
    pub(super) fn seen_manager(&self, version: Option<&str>) -> Option<&str> {
        let default = self.health.seen.as_deref()?;
        Some(version.and_then(|version| self.managers.get(version)).map_or(default, String::as_str))
    }

    /// Whether writes of a field manager may be waited for, whichever way an object goes.
    pub(super) fn waits_for_manager(&self, manager: &str) -> bool {
        let is_named = || self.managers.values().any(|named| named == manager);
        self.health.seen.as_deref().is_some_and(|seen| seen == manager || is_named())
    }

    /// The names of its waves, in their order.
    pub fn waves(&self) -> impl Iterator<Item = &str> {
        self.waves.iter().map(|wave| wave.name.as_str())
    }

    /// The time zones that its windows are told in, as the IANA database names them.
    pub fn zones(&self) -> impl Iterator<Item = &str> {
        self.windows.iter().map(|window| window.zone.as_str())
    }

    /// What nobody else may write while it is under way.
    pub fn frozen(&self) -> impl Iterator<Item = Frozen<'_>> {
        self.freezes.iter().flat_map(Freeze::frozen)
    }

    /// The same, as it was written.
    pub(crate) fn freezes(&self) -> &[Freeze] {
        &self.freezes
    }

    /// Whether a wave waits for somebody's approval, before it or after it.
    #[must_use]
    pub fn asks_approval(&self, wave: &str, side: WaveSide) -> bool {
        self.waves.iter().any(|one| one.name == wave && one.gate(side).approval)
    }

    /// Why objects could not be taken back after they were moved, unless the StagedRollout accepts that.
    ///
    /// # Errors
    /// What the path says, and what to do.
    pub fn way_back(&self) -> Result<(), String> {
        match self.no_way_back() {
            Some(why) if !self.accepts(NO_WAY_BACK) => {
                Err(format!("no way back: {why}. To accept this risk, set acceptedRisks: [{NO_WAY_BACK}]"))
            }
            _ => Ok(()),
        }
    }

    /// Why objects could not be taken back, if that is so.
    #[must_use]
    pub fn no_way_back(&self) -> Option<String> {
        self.hop_refused(&self.to, self.from.as_deref()?)
    }

    /// The waves that take an object along, in their order: those with which it has gone a part of its way, whatever
    /// its labels say by now; and by its labels, for each other workflow the first one that has it.
    pub(super) fn waves_of(
        &self,
        namespace: Option<&str>,
        labels: &BTreeMap<String, String>,
        mark: Option<&RolloutAnnotation>,
    ) -> Vec<usize> {
        fn name(wave: &Wave) -> Option<&str> {
            wave.workflow.as_ref().map(|workflow| workflow.name.as_str())
        }
        let has_gone = |wave: &Wave| mark.is_some_and(|mark| mark.step.contains_key(&wave.name)) && !wave.is_run;
        let gone = self.waves.iter().enumerate().filter(|(_, wave)| has_gone(wave));
        let mut chosen: Vec<(usize, Option<&str>)> = gone.map(|(at, wave)| (at, name(wave))).collect();
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

    /// The parts of its objects that run a version each, as the definition names them; none where it names none.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        // Those of the kind that goes are not named.
        self.observe.iter().filter(|_| self.pair.is_none()).filter_map(|part| part.name.as_deref())
    }

    /// Whether the definition says where it is read what an object is there for.
    #[must_use]
    pub fn knows_roles(&self) -> bool {
        self.role.is_some()
    }

    /// The versions that run of an object, part by part, as far as it says so itself.
    pub(super) fn running(&self, object: &Value) -> Vec<PartVersions> {
        self.observe.iter().map(|part| part.own(object)).collect()
    }

    /// Whether other objects say which versions run of its objects: what is known of them is as old as the last look.
    #[must_use]
    pub fn asks_others(&self) -> bool {
        self.others().next().is_some()
    }

    /// The other objects that say so.
    pub(super) fn others(&self) -> impl Iterator<Item = &OtherSource> {
        self.observe.iter().flat_map(ObservedPart::others)
    }

    /// Whether the StagedRollout accepts a risk, or a step that cannot be undone, by its name.
    #[must_use]
    pub fn accepts(&self, risk: &str) -> bool {
        self.accepts.iter().any(|accepted| accepted == risk)
    }

    /// Steps that cannot be undone, each with the reason, in the order in which they come first.
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

    /// The steps at which going back stops: those of [`Self::irreversible`], but for the deletion of an object that is
    /// made anew of what it has become.
    #[must_use]
    pub fn points_of_no_return(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for workflow in self.waves.iter().filter_map(|wave| wave.workflow.as_ref()) {
            let returns = |step: &WorkflowStep| {
                workflow.returns() && step.beside().is_some_and(|one| matches!(one.act, ObjectAction::DeleteSource))
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

    /// Irreversible steps that nobody has accepted, each in a sentence that says what to do.
    pub(super) fn unaccepted(&self) -> Vec<String> {
        self.irreversible().into_iter().filter_map(|(name, why)| self.risk(name, why)).collect()
    }

    /// The same of one step, before it is done.
    pub(super) fn not_accepted(&self, step: &WorkflowStep) -> Option<String> {
        self.risk(&step.name, step.irreversible.as_deref()?)
    }

    fn risk(&self, name: &str, why: &str) -> Option<String> {
        (!self.accepts(name))
            .then(|| format!("step {name} cannot be undone: {why}. To accept this risk, set acceptedRisks: [{name}]"))
    }

    /// Whether its objects are held until their turn.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.hold
    }

    /// Whether its objects go on workflows, and their version label is not what tells how far they are.
    #[must_use]
    pub fn has_workflows(&self) -> bool {
        self.waves.iter().any(|wave| wave.workflow.is_some() && !wave.is_run)
    }

    /// Whether its steps make objects. An API server may still make one for as long as a call takes, of which whoever
    /// has asked for it knows nothing any more.
    #[must_use]
    pub fn makes_objects(&self) -> bool {
        self.workflow_steps().any(|step| match &step.act {
            WorkflowAct::Job { .. } => true,
            WorkflowAct::Beside(beside) => matches!(beside.act, ObjectAction::Convert | ObjectAction::Recreate(_)),
            WorkflowAct::Set(_) | WorkflowAct::Wait { .. } => false,
        })
    }

    /// One Job for each template that its steps name.
    pub(super) fn templates(&self) -> Vec<&WorkflowJob> {
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

    /// Whether any step runs a Job.
    pub(super) fn runs_jobs(&self) -> bool {
        self.workflow_steps().any(|step| matches!(step.act, WorkflowAct::Job { .. }))
    }

    /// Whether objects that have become others can be made anew of these.
    pub(super) fn returns(&self) -> bool {
        self.waves.iter().filter_map(|wave| wave.workflow.as_ref()).any(Workflow::returns)
    }

    /// Whether any of its waves goes a workflow, or runs something.
    pub(super) fn has_steps(&self) -> bool {
        self.waves.iter().any(|wave| wave.workflow.is_some())
    }

    /// Every step of its waves, one wave after the other.
    pub(super) fn workflow_steps(&self) -> impl Iterator<Item = &WorkflowStep> {
        self.waves.iter().filter_map(|wave| wave.workflow.as_ref()).flat_map(|workflow| &workflow.steps)
    }

    /// The most writes that an object on its workflows takes.
    #[must_use]
    pub fn steps(&self) -> usize {
        let workflows = self.waves.iter().filter(|wave| !wave.is_run).filter_map(|wave| wave.workflow.as_ref());
        workflows.map(|workflow| workflow.steps.len()).sum()
    }

    /// A text with the versions of the rollout in the place of `{from}` and `{to}`.
    pub(super) fn filled(&self, text: &str) -> String {
        RolloutVersions { from: self.from.as_deref(), to: &self.to }.filled(text)
    }

    /// Why no object may go from one version to another; nothing where the path lets it, or there is none.
    pub(super) fn hop_refused(&self, from: &str, to: &str) -> Option<String> {
        let path = self.path.as_ref()?;
        // One that is no version was never on the path: it is adopted, as /validate does.
        let (old, new) = (upgrade::version(from)?, upgrade::version(to)?);
        let v = if from.starts_with('v') { "v" } else { "" };
        path.path.allow(&old, &new).err().map(|refused| refused.told(|version| format!("{v}{version}")))
    }
}

/// What a StagedRollout accepts that cannot be undone.
pub(super) const NO_WAY_BACK: &str = "no-way-back";
