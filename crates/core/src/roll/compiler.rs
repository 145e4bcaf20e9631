//! Checks what a Roll says, against the definition of its kind.

use std::time::Duration;

use serde_saphyr::Spanned;

use super::bad_roll::BadRoll;
use super::checks::RollChecks;
use super::chosen::Chosen;
use super::fleet_roll::{Direction, FleetRoll, OnFailure};
use super::freeze::Freeze;
use super::spec::{FreezeSpec, OrderSpec, RollDocument, RollSpec, WaveSpec, WindowSpec};
use super::wave::{AtOnce, Wave, WaveStates};
use super::window::RollWindow;
use crate::apimachinery::{is_dns_label, is_dns_subdomain, is_label_value, parse_duration};
use crate::definition::admission::VersionSource;
use crate::definition::{Health, Journey, Kind, Path, Problem, line};
use crate::upgrade;

/// Checks a Roll and collects what is wrong with it.
pub(super) struct RollCompiler<'a> {
    file: &'a str,
    pub(super) kind: &'a Kind,
    line: u64,
    problems: Vec<Problem>,
}

impl<'a> RollCompiler<'a> {
    pub(super) fn new(file: &'a str, kind: &'a Kind) -> Self {
        Self { file, kind, line: 0, problems: Vec::new() }
    }

    pub(super) fn compile(mut self, document: &RollDocument) -> Result<FleetRoll, BadRoll> {
        let name = &document.metadata.name;
        // A label of a Lease's name and of policies is made of it.
        if !is_dns_subdomain(&name.value) || name.value.len() > LONGEST {
            self.line = line(name);
            self.bad(format!(
                "metadata.name: {:?} is no name of a Roll: a DNS name of at most {LONGEST} characters",
                name.value
            ));
        }
        self.line = line(&document.spec);
        let roll = self.spec(document);
        match roll.filter(|_| self.problems.is_empty()) {
            Some(roll) => Ok(roll),
            None => {
                self.problems.sort_by_key(|problem| problem.line);
                Err(BadRoll { problems: self.problems })
            }
        }
    }

    pub(super) fn bad(&mut self, message: impl Into<String>) {
        self.problems.push(Problem { file: self.file.to_owned(), line: self.line, message: message.into() });
    }

    fn spec(&mut self, document: &RollDocument) -> Option<FleetRoll> {
        let spec = &document.spec.value;
        self.versions(spec);
        self.next(&spec.next);
        let label = self.kind.version_label().to_owned();
        let chosen = self.fine(Chosen::compile(&spec.select, &label));
        let order = spec.order.as_ref().map(|order| self.order(order));
        let waves = self.waves(spec, &label);
        let windows = self.windows(&spec.windows);
        let freezes = self.freezes(&spec.freeze);
        self.line = line(&document.spec);
        let timeout = self.timeout(spec.timeout.as_deref());
        let on_failure = self.one_of("onFailure", spec.on_failure.as_deref(), &ON_FAILURE);
        let direction = self.one_of("direction", spec.direction.as_deref(), &DIRECTIONS);
        let health = self.health(timeout)?;
        let order = order.flatten();
        let has_journeys = waves.iter().any(|wave| wave.journey.is_some());
        let observe = if has_journeys { self.kind.admission.observe.clone() } else { Vec::new() };
        let journeys = waves.iter().filter_map(|wave| wave.journey.as_ref()).flat_map(Journey::fields);
        let of_order = order.as_ref().map(|(field, _)| field);
        let looked_at = health.fields().into_iter().chain(of_order).chain(journeys);
        let looked_at: Vec<&Path> = looked_at.chain(observe.iter().map(VersionSource::path)).collect();
        let versions = self.kind.versions_alike(&looked_at);
        self.accepted(&spec.accept, &waves);
        if let Some(chosen) = &chosen {
            self.chosen_by_steps(chosen, &waves);
        }
        let says_states = spec.waves.iter().any(|wave| wave.value.states.is_said());
        let tells_states = has_journeys || spec.states.is_said() || says_states;
        Some(FleetRoll {
            name: document.metadata.name.value.clone(),
            uid: document.metadata.uid.clone().unwrap_or_default(),
            label,
            from: spec.from.clone(),
            to: spec.to.clone(),
            chosen: chosen?,
            order,
            waves,
            windows,
            freezes,
            next: spec.next.clone(),
            unhealthy_max: usize::try_from(spec.unhealthy_max.unwrap_or(1)).unwrap_or(usize::MAX),
            timeout,
            on_failure: on_failure.unwrap_or(OnFailure::Pause),
            accepts: spec.accept.clone(),
            started: spec.states.started.clone().unwrap_or_else(|| "started".to_owned()),
            tells_states,
            take_over: spec.take_over.unwrap_or_default(),
            run: spec.run.unwrap_or(true),
            paused: spec.paused.unwrap_or_default(),
            direction: direction.unwrap_or_default(),
            health,
            path: self.kind.admission.version_path.clone(),
            lease: self.kind.admission.lease.clone(),
            managers: self.kind.admission.managers.clone(),
            checks: RollChecks::of(self.kind, &spec.to),
            observe,
            versions,
        })
    }

    /// What a healthy object looks like, which it has to be for less than the time that it has for that.
    fn health(&mut self, timeout: Duration) -> Option<Health> {
        let Some(health) = self.kind.health.clone() else {
            self.bad(format!(
                "the definition of {} does not say what a healthy object looks like, so that nothing would tell when the \
                 next one may go: give it a `healthy` block",
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

    fn versions(&mut self, spec: &RollSpec) {
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
            self.bad(format!("from and to are both {:?}: nothing would move", spec.to));
        }
        let lease = self.kind.admission.lease.as_ref();
        if let Some((lease, from)) = lease.zip(spec.from.as_ref())
            && lease.collide(from, &spec.to)
        {
            let message = format!(
                "from and to: the controllers of {from} and {} would hold one Lease, {}",
                spec.to,
                lease.of(from).1
            );
            self.bad(message);
        }
    }

    fn next(&mut self, titles: &[String]) {
        for title in titles {
            let (namespace, name) = title.split_once('/').unwrap_or(("a", title));
            if !is_dns_label(namespace) || !is_dns_subdomain(name) {
                self.bad(format!("next: {title:?} is no object: write it as NAMESPACE/NAME"));
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
        if self.kind.versions_alike(&[&path]).is_empty() {
            self.bad(format!("order.by: {} has no field {path} in its newest version", self.kind.name()));
        }
        Some((path, spec.values.clone()))
    }

    fn waves(&mut self, spec: &RollSpec, label: &str) -> Vec<Wave> {
        let specs = spec.waves.as_slice();
        let Some((last, before)) = specs.split_last() else {
            self.bad("waves: there is none: give it at least one, such as {name: all, atOnce: 1}");
            return Vec::new();
        };
        let mut waves = Vec::new();
        for (at, one) in specs.iter().enumerate() {
            self.line = line(one);
            let name = &one.value.name;
            if !is_dns_label(name) {
                self.bad(format!("waves: {name:?} is no name: use lower case letters, digits and hyphens"));
            }
            if specs.iter().take(at).any(|other| other.value.name == *name) {
                self.bad(format!("waves: there are two that are called {name:?}"));
            }
            waves.extend(self.wave(&one.value, spec, label));
        }
        if waves.len() < specs.len() {
            // What is wrong with one of them was said.
            return waves;
        }
        self.mixed(&waves);
        let is_all = |wave: &&Wave| wave.chosen.is_everything() && !wave.is_run;
        let journey = |wave: &Wave| wave.journey.as_ref().map(|journey| journey.name.clone());
        let of_last = waves.last().and_then(journey);
        for wave in waves.iter().take(before.len()).filter(is_all).filter(|wave| journey(wave) == of_last) {
            let (name, last) = (&wave.name, &last.value.name);
            let message =
                format!("waves: {name} selects everything, so that nothing is left for {last}: give it a select");
            self.problems.push(Problem { file: self.file.to_owned(), line: self.line, message });
        }
        if waves.last().is_some_and(|wave| !wave.chosen.is_everything()) {
            let name = &last.value.name;
            self.bad(format!(
                "waves: the last one, {name}, must take everything that is left, also what is created meanwhile: leave out \
                 its select, or add a wave {{name: rest, atOnce: 1}}"
            ));
        }
        if waves.last().is_some_and(|wave| wave.is_run) {
            self.bad(format!("waves: the last one, {}, has to have objects: `run` comes before", last.value.name));
        }
        if waves.last().is_some_and(|wave| wave.approval) {
            self.bad(format!("waves: nothing comes after {}: `then: approval` would never be asked", last.value.name));
        }
        waves
    }

    fn windows(&mut self, specs: &[Spanned<WindowSpec>]) -> Vec<RollWindow> {
        let compiled = specs.iter().filter_map(|spec| {
            self.line = line(spec);
            self.fine(RollWindow::compile(&spec.value).map_err(|error| format!("windows: {error}")))
        });
        compiled.collect()
    }

    fn freezes(&mut self, specs: &[Spanned<FreezeSpec>]) -> Vec<Freeze> {
        let own = (self.kind.plural(), self.kind.group());
        let mut freezes = Vec::new();
        for spec in specs {
            self.line = line(spec);
            let compiled = Freeze::compile(&spec.value, own);
            freezes.extend(self.fine(compiled.map_err(|error| format!("freeze: {error}"))));
        }
        freezes
    }

    fn wave(&mut self, spec: &WaveSpec, roll: &RollSpec, label: &str) -> Option<Wave> {
        let WaveSpec { name, select, at_once, soak, then, journey, run, states } = spec;
        if run.is_some() && (select.is_some() || at_once.is_some() || journey.is_some()) {
            self.bad(format!("waves: {name}: with `run` it has no objects: leave out select, atOnce and journey"));
        }
        let what = match run {
            Some(run) => self.run(name, run, roll),
            None => self.journey(journey.as_deref(), roll),
        };
        let in_wave = |error: String| format!("waves: {name}: {error}");
        let chosen = select.as_ref().map(|select| Chosen::compile(select, label).map_err(in_wave)).transpose();
        let chosen = self.fine(chosen).map(Option::unwrap_or_default);
        let at_once = at_once.as_ref().map_or(Ok(AtOnce::Objects(1)), |value| AtOnce::read(value).map_err(in_wave));
        let at_once = self.fine(at_once);
        let soak = soak
            .as_ref()
            .map(|text| parse_duration(text).map_err(|error| in_wave(format!("soak: {text:?} is {error}"))));
        let soak = self.fine(soak.transpose());
        if let Some(other) = then.as_deref().filter(|then| *then != APPROVAL) {
            self.bad(in_wave(format!(
                "then: {other:?} is not known{}. Known here: {APPROVAL}",
                near(other, &[APPROVAL])
            )));
        }
        if states.started.is_some() {
            self.bad(in_wave("states: started is a word of the whole Roll: spec.states".to_owned()));
        }
        let word = |own: &Option<String>, all: &Option<String>, default: String| {
            own.clone().or_else(|| all.clone()).unwrap_or(default)
        };
        let all = &roll.states;
        let states = WaveStates {
            running: word(&states.running, &all.running, format!("moving-{name}")),
            done: word(&states.done, &all.done, format!("moved-{name}")),
            failed: word(&states.failed, &all.failed, "failed".to_owned()),
        };
        Some(Wave {
            name: name.clone(),
            chosen: chosen?,
            at_once: at_once?,
            soak: soak?,
            approval: then.is_some(),
            journey: what,
            is_run: run.is_some(),
            states,
        })
    }

    fn one_of<T: Copy>(&mut self, what: &str, text: Option<&str>, known: &[(&str, T)]) -> Option<T> {
        let text = text?;
        let found = known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let (hint, names) = (near(text, &names), names.join(", "));
            self.bad(format!("{what}: {text:?} is not known{hint}. Known here: {names}"));
        }
        found
    }

    fn fine<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|error| self.bad(error)).ok()
    }
}

/// `, did you mean "x"?` where a word is near to one that is known.
pub(super) fn near(word: &str, known: &[&str]) -> String {
    let distances = known.iter().map(|known| (strsim::damerau_levenshtein(known, word), known));
    let near = distances.min().filter(|(distance, _)| *distance <= word.len().max(3) / 2);
    near.map(|(_, near)| format!(", did you mean {near:?}?")).unwrap_or_default()
}

/// The journey that every kind has: the label that names the controller version is changed.
pub(super) const JOURNEY: &str = "controller-version";
const APPROVAL: &str = "approval";
const ON_FAILURE: [(&str, OnFailure); 3] =
    [("Pause", OnFailure::Pause), ("Back", OnFailure::Back), ("BackAll", OnFailure::BackAll)];
const DIRECTIONS: [(&str, Direction); 3] =
    [("Forward", Direction::Forward), ("Back", Direction::Back), ("Stop", Direction::Stop)];
/// For an object and a step, where the Roll names no other.
const TIMEOUT: Duration = Duration::from_secs(20 * 60);
/// Characters: `pointsman-roll-` and a name are the name of a Lease, and what is made of it has room.
const LONGEST: usize = 200;
