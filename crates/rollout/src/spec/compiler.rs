//! Validates a StagedRollout against the definition of its kind.

use super::checks::RolloutChecks;
use super::document::{
    BadRollout, FreezeSpec, OrderSpec, RolloutDocument, RolloutSpec, RunSpec, WaveSpec, WindowSpec, near,
};
use super::freeze::Freeze;
use super::kinds::SourceAndTargetKind;
use super::rollout::{Direction, NO_WAY_BACK, OnFailure, Rollout};
use super::waves::{MaxInFlight, ObjectSelector, Wave, WaveGate, WaveSide, WaveStates};
use super::window::RolloutWindow;
use crate::definition::RolloutDefinition;
use crate::definition::health::Health;
use crate::definition::rollout_versions::RolloutVersions;
use crate::definition::workflows::{OF_LABELS, REWRITE, Workflow, WorkflowAct, WorkflowStep};
use pointsman_core::apimachinery::{is_dns_label, is_dns_subdomain, is_label_value, parse_duration};
use pointsman_core::definition::admission::{ObservedPart, RoleSource};
use pointsman_core::definition::yaml::Spanned;
use pointsman_core::definition::{Kind, Path, Problem, upgrade};
use serde_json::Value;
use std::time::Duration;

/// Validates a StagedRollout and collects its problems.
pub(crate) struct RolloutCompiler<'a> {
    file: &'a str,
    pub(crate) kind: &'a Kind,
    definition: RolloutDefinition,
    line: u64,
    problems: Vec<Problem>,
}

impl<'a> RolloutCompiler<'a> {
    /// # Errors
    /// The definition of the kind has problems in parts that only rollouts read.
    pub(crate) fn new(file: &'a str, kind: &'a Kind) -> Result<Self, BadRollout> {
        let definition = RolloutDefinition::of(kind).map_err(|bad| BadRollout { problems: bad.problems })?;
        Ok(Self { file, kind, definition, line: 0, problems: Vec::new() })
    }

    pub(crate) fn compile(mut self, document: &RolloutDocument) -> Result<Rollout, BadRollout> {
        let name = &document.metadata.name;
        // Part of the Lease name, and a label of policies.
        if !is_dns_subdomain(&name.value) || name.value.len() > LONGEST {
            self.line = name.line;
            self.bad(format!(
                "metadata.name: {:?} is no name of a StagedRollout: a DNS name of at most {LONGEST} characters",
                name.value
            ));
        }
        self.line = document.spec.line;
        let rollout = self.spec(document);
        match rollout.filter(|_| self.problems.is_empty()) {
            Some(rollout) => Ok(rollout),
            None => {
                self.problems.sort_by_key(|problem| problem.line);
                Err(BadRollout { problems: self.problems })
            }
        }
    }

    pub(crate) fn bad(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::new(self.file, self.line, message));
    }

    fn spec(&mut self, document: &RolloutDocument) -> Option<Rollout> {
        let spec = &document.spec.value;
        let stores = self.stores(spec);
        self.prioritized(&spec.prioritized_objects);
        let label = self.kind.version_label().to_owned();
        let chosen = self.fine(ObjectSelector::compile(&spec.selector, &label));
        let order = spec.order.as_ref().and_then(|order| self.order(order));
        let waves = self.waves(spec, &label);
        let windows = self.windows(&spec.windows);
        let freezes = self.freezes(&spec.freeze, &waves);
        self.line = document.spec.line;
        let timeout = self.timeout(spec.timeout.as_deref());
        let on_failure = self.one_of("onFailure", spec.on_failure.as_deref(), &ON_FAILURE);
        let direction = self.one_of("direction", spec.direction.as_deref(), &DIRECTIONS);
        let pair = self.pair(&waves);
        let health = self.health(timeout, pair.is_some())?;
        let has_workflows = waves.iter().any(|wave| wave.workflow.is_some());
        let observe = self.observe(has_workflows);
        let inspected_fields = health.fields().into_iter().chain(order.as_ref().map(|(field, _)| field));
        let inspected_fields = inspected_fields.chain(observe.iter().flat_map(ObservedPart::fields));
        let versions = self.read_in(inspected_fields, &waves, pair.is_some());
        self.accepted(&spec.accepted_risks, &waves);
        if let Some(chosen) = &chosen {
            self.chosen_by_steps(chosen, &waves);
        }
        let checks = self.checks(spec);
        let writes_state_labels = has_workflows || defines_state_labels(spec);
        Some(Rollout {
            name: document.metadata.name.value.clone(),
            uid: document.metadata.uid.clone().unwrap_or_default(),
            generation: document.metadata.generation,
            label,
            from: spec.from.clone(),
            to: spec.to.clone(),
            chosen: chosen?,
            order,
            waves,
            windows,
            freezes,
            prioritized: spec.prioritized_objects.clone(),
            max_unhealthy: usize::try_from(spec.max_unhealthy.unwrap_or(1)).unwrap_or(usize::MAX),
            timeout,
            on_failure: on_failure.unwrap_or(OnFailure::Pause),
            accepts: spec.accepted_risks.clone(),
            started: spec.states.started.clone().unwrap_or_else(|| "started".to_owned()),
            writes_state_labels,
            take_over: spec.take_over.unwrap_or_default(),
            hold: spec.hold.unwrap_or_default(),
            paused: spec.paused.unwrap_or_default(),
            direction: direction.unwrap_or_default(),
            health,
            path: self.kind.admission.version_path.clone(),
            lease: self.kind.admission.lease.clone().filter(|_| stores.is_none()),
            stores,
            managers: self.kind.admission.managers.clone(),
            checks,
            observe,
            role: self.kind.admission.role.clone(),
            pair: pair.map(Box::new),
            versions,
        })
    }

    /// Version sources of an object: used if the version label is no source, or if named parts exist.
    fn observe(&self, has_workflows: bool) -> Vec<ObservedPart> {
        let observe = &self.kind.admission.observe;
        let is_read = has_workflows || observe.iter().any(|part| part.name.is_some());
        if is_read { observe.clone() } else { Vec::new() }
    }

    /// The versions in which all inspected fields are the same.
    fn read_in<'f>(
        &self,
        inspected_fields: impl Iterator<Item = &'f Path>,
        waves: &'f [Wave],
        of_source: bool,
    ) -> Vec<String> {
        if of_source {
            return self.kind.becoming().map(|becoming| becoming.from().to_owned()).into_iter().collect();
        }
        let workflows = waves.iter().filter_map(|wave| wave.workflow.as_ref()).flat_map(Workflow::fields);
        let mut fields: Vec<&Path> = inspected_fields.chain(workflows).collect::<Vec<_>>();
        fields.extend(self.kind.admission.role.as_ref().map(RoleSource::path));
        self.kind.versions_alike(&fields)
    }

    /// The health conditions. They must hold longer than zero, and shorter than the timeout.
    fn health(&mut self, timeout: Duration, is_of_source: bool) -> Option<Health> {
        let health = if is_of_source { &self.definition.source_health } else { &self.definition.health };
        let Some(health) = health.clone() else {
            if is_of_source {
                self.bad(format!(
                    "the definition of {} has no health for the replaced kind: add a `health` block under \
                         `replaces.from`",
                    self.kind.name()
                ));
                return None;
            }
            self.bad(format!(
                "the definition of {} has no health, so the rollout cannot decide when to move the next object: \
                     add a `health` block",
                self.kind.name()
            ));
            return None;
        };
        if timeout <= health.settle {
            let (timeout, settle) = (timeout.as_secs(), health.settle.as_secs());
            self.bad(format!(
                "timeout: {timeout}s is no longer than an object has to be healthy, which is {settle}s: every object would \
                 fail"
            ));
        }
        Some(health)
    }

    fn versions(&mut self, spec: &RolloutSpec) {
        let has_path = self.kind.admission.version_path.is_some();
        for (what, version) in [("from", spec.from.as_ref()), ("to", Some(&spec.to))] {
            let Some(version) = version else { continue };
            if version.is_empty() || !is_label_value(version) {
                self.bad(format!("{what}: {version:?} can be no value of the label {}", self.kind.version_label()));
            } else if has_path && upgrade::version(version).is_none() {
                self.bad(format!("{what}: {version:?} is no version, and the definition has an upgrade path"));
            }
        }
        if spec.from.as_ref() == Some(&spec.to) {
            self.bad(format!("from and to are both {:?}: no object would move", spec.to));
        }
        let lease = self.kind.admission.lease.as_ref();
        if let Some((lease, from)) = lease.zip(spec.from.as_ref())
            && lease.collide(from, &spec.to)
        {
            let message = format!(
                "from and to: the controllers of {from} and {} would share the Lease {}",
                spec.to,
                lease.of(from).1
            );
            self.bad(message);
        }
    }

    /// The CRD of a storage migration. Its versions are API versions, not controller versions.
    fn stores(&mut self, spec: &RolloutSpec) -> Option<String> {
        if spec.workflow.as_deref() != Some(REWRITE) {
            self.versions(spec);
            return None;
        }
        self.stored_version(spec);
        Some(format!("{}.{}", self.kind.plural(), self.kind.group()))
    }

    /// The target storage version. The stored version of an object is not readable.
    fn stored_version(&mut self, spec: &RolloutSpec) {
        let known: Vec<&str> = self.kind.versions().collect();
        if !known.contains(&spec.to.as_str()) {
            let (to, hint) = (&spec.to, near(&spec.to, &known));
            let message =
                format!("to: {to:?} is no version of {}{hint} Known versions: {}", self.kind.name(), known.join(", "));
            self.bad(message);
        }
        if spec.from.is_some() {
            self.bad(format!(
                "from: the stored version of an object cannot be read: remove `from` with workflow {REWRITE}"
            ));
        }
    }

    /// The checks of the definition for these versions. A storage migration has no controller version, and skips checks
    /// that depend on one.
    fn checks(&mut self, spec: &RolloutSpec) -> RolloutChecks {
        let all = RolloutChecks::of(self.kind, self.definition.checks.clone(), versions_of(spec));
        let checks = if spec.workflow.as_deref() == Some(REWRITE) { all.without_versions() } else { all };
        checks.unfit().into_iter().for_each(|why| self.bad(format!("checks: {why}")));
        checks
    }

    fn prioritized(&mut self, titles: &[String]) {
        for title in titles {
            let (namespace, name) = title.split_once('/').unwrap_or(("a", title));
            if !is_dns_label(namespace) || !is_dns_subdomain(name) {
                self.bad(format!("prioritizedObjects: {title:?} is not an object: write NAMESPACE/NAME"));
            }
        }
    }

    fn timeout(&mut self, text: Option<&str>) -> Duration {
        let Some(text) = text else { return TIMEOUT };
        match parse_duration(text) {
            Ok(timeout) => timeout,
            Err(error) => {
                self.bad(format!("timeout: {text:?} is {error}"));
                Duration::MAX
            }
        }
    }

    fn order(&mut self, spec: &OrderSpec) -> Option<(Path, Vec<String>)> {
        let path = Path::parse(&spec.by);
        let path = self.fine(path.map_err(|error| format!("order.by: {error}")))?;
        // The workflows determine the kind of the objects: one of both kinds must have the field.
        let of_source = self.kind.becoming().is_some_and(|becoming| becoming.has_source_field(&path));
        if self.kind.versions_alike(&[&path]).is_empty() && !of_source {
            self.bad(format!("order.by: {} has no field {path} in its newest version", self.kind.name()));
        }
        Some((path, spec.values.clone()))
    }

    fn waves(&mut self, spec: &RolloutSpec, label: &str) -> Vec<Wave> {
        let specs = spec.waves.as_slice();
        let Some((last, before)) = specs.split_last() else {
            self.bad("waves: the list is empty: add at least one wave, such as {name: all, maxInFlight: 1}");
            return Vec::new();
        };
        let mut waves = Vec::new();
        for (at, one) in specs.iter().enumerate() {
            self.line = one.line;
            let name = &one.value.name;
            if !is_dns_label(name) {
                self.bad(format!("waves: {name:?} is no name: use lower case letters, digits and hyphens"));
            }
            if specs.iter().take(at).any(|other| other.value.name == *name) {
                self.bad(format!("waves: two waves have the name {name:?}"));
            }
            waves.extend(self.wave(&one.value, spec, label));
        }
        if waves.len() < specs.len() {
            // Problems of waves are already reported.
            return waves;
        }
        self.mixed(&waves);
        if spec.hold == Some(true) && waves.iter().any(|wave| wave.workflow.is_some() && !wave.is_run) {
            self.bad("hold: protects the version label, and workflows change no label: remove `hold`");
        }
        self.first_waits(&waves);
        let is_all = |wave: &&Wave| wave.chosen.is_everything() && !wave.is_run;
        let workflow = |wave: &Wave| wave.workflow.as_ref().map(|workflow| workflow.name.clone());
        let of_last = waves.last().and_then(workflow);
        for wave in waves.iter().take(before.len()).filter(is_all).filter(|wave| workflow(wave) == of_last) {
            let (name, last) = (&wave.name, &last.value.name);
            let message = format!("waves: {name} selects every object, so {last} gets none: add a selector");
            self.problems.push(Problem::new(self.file, self.line, message));
        }
        if waves.last().is_some_and(|wave| !wave.chosen.is_everything()) {
            let name = &last.value.name;
            self.bad(format!(
                "waves: the last wave, {name}, must select all remaining objects, including new ones: remove \
                     its selector, or add a wave {{name: rest, maxInFlight: 1}}"
            ));
        }
        if waves.last().is_some_and(|wave| wave.is_run) {
            self.bad(format!(
                "waves: the last wave, {}, must move objects: put the wave with `run` earlier",
                last.value.name
            ));
        }
        if waves.last().is_some_and(|wave| wave.after.approval) {
            self.bad(format!("waves: {} is the last wave: remove `after: approval`", last.value.name));
        }
        waves
    }

    fn windows(&mut self, specs: &[Spanned<WindowSpec>]) -> Vec<RolloutWindow> {
        let compiled = specs.iter().filter_map(|spec| {
            self.line = spec.line;
            self.fine(RolloutWindow::compile(&spec.value).map_err(|error| format!("windows: {error}")))
        });
        compiled.collect()
    }

    fn freezes(&mut self, specs: &[Spanned<FreezeSpec>], waves: &[Wave]) -> Vec<Freeze> {
        let own = (self.kind.plural(), self.kind.group());
        // The source kind has no named parts.
        let is_of_source = waves.iter().filter_map(|wave| wave.workflow.as_ref()).any(|workflow| workflow.is_of_source);
        let observe = self.kind.admission.observe.iter().filter(|_| !is_of_source);
        let parts: Vec<&str> = observe.filter_map(|part| part.name.as_deref()).collect();
        let mut freezes = Vec::new();
        for spec in specs {
            self.line = spec.line;
            let compiled = Freeze::compile(&spec.value, own, &parts);
            freezes.extend(self.fine(compiled.map_err(|error| format!("freeze: {error}"))));
        }
        freezes
    }

    fn wave(&mut self, spec: &WaveSpec, rollout: &RolloutSpec, label: &str) -> Option<Wave> {
        let WaveSpec { name, selector, max_in_flight, soak, before, after, workflow, run, states } = spec;
        if run.is_some() && (selector.is_some() || max_in_flight.is_some() || workflow.is_some()) {
            self.bad(format!(
                "waves: {name}: with `run` the wave has no objects: remove selector, maxInFlight and workflow"
            ));
        }
        let what = match run {
            Some(run) => self.run(name, run, rollout),
            None => self.workflow(workflow.as_deref(), rollout),
        };
        let in_wave = |error: String| format!("waves: {name}: {error}");
        let chosen =
            selector.as_ref().map(|selector| ObjectSelector::compile(selector, label).map_err(in_wave)).transpose();
        let chosen = self.fine(chosen).map(Option::unwrap_or_default);
        let max_in_flight = max_in_flight
            .as_ref()
            .map_or(Ok(MaxInFlight::Objects(1)), |value| MaxInFlight::read(value).map_err(in_wave));
        let max_in_flight = self.fine(max_in_flight);
        let before = self.gate(name, WaveSide::Before, before.as_ref());
        let after = self.gate(name, WaveSide::After, after.as_ref());
        let after = self.soak(name, soak.as_deref(), after);
        if states.started.is_some() {
            self.bad(in_wave("states: started applies to the whole StagedRollout: use spec.states".to_owned()));
        }
        let word = |own: &Option<String>, all: &Option<String>, default: String| {
            own.clone().or_else(|| all.clone()).unwrap_or(default)
        };
        let all = &rollout.states;
        let states = WaveStates {
            running: word(&states.running, &all.running, format!("moving-{name}")),
            done: word(&states.done, &all.done, format!("moved-{name}")),
            failed: word(&states.failed, &all.failed, "failed".to_owned()),
        };
        Some(Wave {
            name: name.clone(),
            chosen: chosen?,
            max_in_flight: max_in_flight?,
            before: before?,
            after: after?,
            workflow: what,
            is_run: run.is_some(),
            states,
        })
    }

    /// The gate on one side of a wave.
    fn gate(&mut self, wave: &str, side: WaveSide, value: Option<&Value>) -> Option<WaveGate> {
        let Some(value) = value else { return Some(WaveGate::default()) };
        let in_side = |error: String| format!("waves: {wave}: {}: {error}", side.word());
        let gate = self.fine(WaveGate::read(value).map_err(in_side))?;
        if gate.checks && self.definition.checks.start.is_empty() {
            let kind = self.kind.name();
            self.bad(in_side(format!(
                "checks: the definition of {kind} has none under checks.start, so there is no check to wait for"
            )));
        }
        Some(gate)
    }

    /// The time starts at the end of the previous wave.
    fn first_waits(&mut self, waves: &[Wave]) {
        if let Some(first) = waves.first().filter(|wave| wave.before.wait.is_some()) {
            self.bad(format!(
                "waves: {}: before: wait: the first wave has no earlier wave: remove the wait",
                first.name
            ));
        }
    }

    /// `soak` is the short form of `after: {wait: …}`.
    fn soak(&mut self, wave: &str, text: Option<&str>, after: Option<WaveGate>) -> Option<WaveGate> {
        let Some(text) = text else { return after };
        let read = parse_duration(text).map_err(|error| format!("waves: {wave}: soak: {text:?} is {error}"));
        let (soak, after) = (self.fine(read)?, after?);
        if after.wait.is_some() {
            self.bad(format!("waves: {wave}: soak and `wait` of `after` are the same setting: remove one of the two"));
        }
        Some(WaveGate { wait: Some(soak), ..after })
    }

    fn one_of<T: Copy>(&mut self, what: &str, text: Option<&str>, known: &[(&str, T)]) -> Option<T> {
        let text = text?;
        let found = known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let (hint, names) = (near(text, &names), names.join(", "));
            self.bad(format!("{what}: {text:?} is unknown{hint} Known values: {names}"));
        }
        found
    }

    fn fine<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|error| self.bad(error)).ok()
    }
}

impl RolloutCompiler<'_> {
    /// Risks are accepted under the names printed by a plan.
    pub(crate) fn accepted(&mut self, accepted: &[String], waves: &[Wave]) {
        let mut named: Vec<(&str, &str)> = Vec::new();
        for workflow in waves.iter().filter_map(|wave| wave.workflow.as_ref()) {
            for step in workflow.steps.iter().filter(|step| step.irreversible.is_some()) {
                let (name, of) = (step.name.as_str(), workflow.name.as_str());
                // Waves can share a workflow.
                if named.contains(&(name, of)) {
                    continue;
                }
                if let Some((_, other)) = named.iter().find(|(known, _)| *known == name) {
                    self.bad(format!(
                        "{other} and {of} both have an irreversible step {name}: rename one of the two, so that each \
                             is accepted by its name"
                    ));
                }
                named.push((name, of));
            }
        }
        let mut known = vec![NO_WAY_BACK];
        known.extend(named.iter().map(|(name, _)| *name));
        for risk in accepted.iter().filter(|risk| !known.contains(&risk.as_str())) {
            let (hint, known) = (near(risk, &known), known.join(", "));
            self.bad(format!("acceptedRisks: {risk:?} is an unknown risk{hint} Known risks: {known}"));
        }
    }

    /// The workflow of a wave; `None` if only the version label changes.
    pub(crate) fn workflow(&mut self, name: Option<&str>, spec: &RolloutSpec) -> Option<Workflow> {
        let name = name.or(spec.workflow.as_deref()).filter(|name| *name != OF_LABELS)?;
        if name == REWRITE || spec.workflow.as_deref() == Some(REWRITE) {
            return self.rewrite(name, spec);
        }
        let found = self.definition.workflows.iter().find(|workflow| workflow.name == name);
        let Some(workflow) = found.cloned() else {
            let known: Vec<&str> = [OF_LABELS, REWRITE]
                .into_iter()
                .chain(self.definition.workflows.iter().map(|workflow| workflow.name.as_str()))
                .collect();
            let (hint, known) = (near(name, &known), known.join(", "));
            self.bad(format!("workflow: {name:?} is unknown{hint} Known workflows: {known}"));
            return None;
        };
        self.require_from(&format!("workflow {name}"), &workflow, spec);
        let versions = versions_of(spec);
        Some(workflow.filled(&|text| versions.filled(text)))
    }

    /// The workflow of a storage migration: one step that writes only the progress of the object.
    fn rewrite(&mut self, name: &str, spec: &RolloutSpec) -> Option<Workflow> {
        if (name, spec.workflow.as_deref()) != (REWRITE, Some(REWRITE)) {
            self.bad(format!(
                "workflow: {REWRITE} applies to the whole StagedRollout: use a separate StagedRollout for other steps"
            ));
            return None;
        }
        let act = WorkflowAct::Set(Vec::new());
        let step = WorkflowStep { name: REWRITE.to_owned(), act, irreversible: None, if_any: None };
        let words = Value::Null;
        Some(Workflow { name: REWRITE.to_owned(), when: None, is_of_source: false, steps: vec![step], words })
    }

    /// Without `from`, the placeholder `{from}` has no value.
    fn require_from(&mut self, what: &str, workflow: &Workflow, spec: &RolloutSpec) {
        if spec.from.is_none() && workflow.mentions("{from}") {
            self.bad(format!(
                "{what} contains {{from}}, and the StagedRollout has no `from`: add the version of its objects"
            ));
        }
    }

    /// Steps must not change a selector label: the waves of an object would become ambiguous.
    pub(crate) fn chosen_by_steps(&mut self, chosen: &ObjectSelector, waves: &[Wave]) {
        let workflows: Vec<&Workflow> = waves.iter().filter_map(|wave| wave.workflow.as_ref()).collect();
        let steps = workflows.iter().flat_map(|workflow| workflow.steps.iter().map(|step| (&workflow.name, step)));
        let mut bad = Vec::new();
        for (workflow, step) in steps {
            let WorkflowAct::Set(fields) = &step.act else { continue };
            for (field, _) in fields {
                let [metadata, labels, label] = field.names() else { continue };
                let is_label = (metadata.as_ref(), labels.as_ref()) == ("metadata", "labels");
                let selects = chosen.depends_on(label) || waves.iter().any(|wave| wave.chosen.depends_on(label));
                if is_label && selects {
                    bad.push(format!(
                        "workflow {workflow}: step {} changes {field}, a selector of the StagedRollout: select \
                             by another label",
                        step.name
                    ));
                }
            }
        }
        bad.dedup();
        bad.into_iter().for_each(|why| self.bad(why));
    }

    /// The workflow of a wave without objects.
    pub(crate) fn run(&mut self, name: &str, run: &RunSpec, spec: &RolloutSpec) -> Option<Workflow> {
        let mut steps = Vec::new();
        if let Some(job) = &run.job {
            match (job.has_undo(), run.irreversible.as_deref()) {
                (false, None | Some("")) => {
                    self.bad(format!("waves: {name}: run: the job needs an `undo`, or `irreversible` with a reason"));
                }
                (true, Some(_)) => {
                    self.bad(format!("waves: {name}: run: the job has an `undo`, so the job cannot be `irreversible`"));
                }
                _ => {}
            }
            match job.compile_for_wave() {
                Ok((job, undo)) => {
                    let act = WorkflowAct::Job { job: Box::new(job), undo: undo.map(Box::new) };
                    let (name, irreversible) = (name.to_owned(), run.irreversible.clone());
                    steps.push(WorkflowStep { name, act, irreversible, if_any: None });
                }
                Err(bad) => {
                    bad.into_iter().for_each(|why| self.bad(format!("waves: {name}: run: job: {why}")));
                    return None;
                }
            }
        }
        let (title, words) = (format!("run {name}"), run.words.clone());
        let workflow = Workflow { name: title, when: None, is_of_source: false, steps, words };
        self.require_from(&format!("waves: {name}: run"), &workflow, spec);
        Some(workflow)
    }

    /// The two kinds, if objects are converted to another kind.
    pub(crate) fn pair(&mut self, waves: &[Wave]) -> Option<SourceAndTargetKind> {
        let with_objects = || waves.iter().filter(|wave| !wave.is_run);
        let of = |wave: &&Wave| wave.workflow.as_ref().is_some_and(|workflow| workflow.is_of_source);
        let (source, other) = (with_objects().find(of)?, with_objects().find(|wave| !of(wave)));
        if let Some(other) = other {
            self.bad(format!(
                "waves: {} moves replaced objects, and {} their replacements: use a StagedRollout for each",
                source.name, other.name
            ));
        }
        SourceAndTargetKind::of(self.kind)
    }

    /// Objects with a version label workflow have no other workflow: the label is their progress.
    pub(crate) fn mixed(&mut self, waves: &[Wave]) {
        let with_objects = || waves.iter().filter(|wave| !wave.is_run);
        let label = with_objects().find(|wave| wave.workflow.is_none());
        let other = with_objects().find(|wave| wave.workflow.is_some());
        if let (Some(label), Some(other)) = (label, other) {
            self.bad(format!(
                "waves: {} has the workflow {OF_LABELS}, and {} another workflow: a rollout changes version \
                     labels in all waves or in none",
                label.name, other.name
            ));
        }
    }
}

/// The values of `{from}` and `{to}`.
fn versions_of(spec: &RolloutSpec) -> RolloutVersions<'_> {
    RolloutVersions { from: spec.from.as_deref(), to: &spec.to }
}

/// True if the user defined state words.
fn defines_state_labels(spec: &RolloutSpec) -> bool {
    spec.states.is_defined() || spec.waves.iter().any(|wave| wave.value.states.is_defined())
}

const ON_FAILURE: [(&str, OnFailure); 3] =
    [("Pause", OnFailure::Pause), ("Undo", OnFailure::Undo), ("UndoAll", OnFailure::UndoAll)];
const DIRECTIONS: [(&str, Direction); 3] =
    [("Forward", Direction::Forward), ("Undo", Direction::Undo), ("Abort", Direction::Abort)];
/// For an object and a step, unless the StagedRollout contains another one.
const TIMEOUT: Duration = Duration::from_secs(20 * 60);
/// Characters. A Lease is named `pointsman-rollout-` and the name; derived names need room.
const LONGEST: usize = 200;

/// The kind in a StagedRollout, as spelled there. `file` is the name for messages.
///
/// # Errors
/// [`BadRollout`]: the document is not a StagedRollout.
pub fn rolled_kind(file: &str, text: &str) -> Result<String, BadRollout> {
    RolloutDocument::read(file, text).map(|document| document.spec.value.kind)
}

/// Reads a StagedRollout, as YAML or JSON, and checks it against the definition of its kind.
///
/// # Errors
/// [`BadRollout`]: all errors found.
pub fn read_rollout(file: &str, text: &str, kind: &Kind) -> Result<Rollout, BadRollout> {
    RolloutCompiler::new(file, kind)?.compile(&RolloutDocument::read(file, text)?)
}

/// Reads a StagedRollout returned by the API server.
///
/// # Errors
/// [`BadRollout`].
pub fn answered_rollout(document: &Value, kind: &Kind) -> Result<Rollout, BadRollout> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    read_rollout(&format!("rollout {name}"), &document.to_string(), kind)
}
