//! Runs a history of workflows and checks their properties throughout.

use std::collections::{BTreeMap, BTreeSet};

use pointsman_rollout::{Direction, JobWrite, RolloutPhase, RolloutStatus};
use serde_json::{Value, json};

use super::draw::{Draft, Drawn, Event};
use super::fake_cluster::{Call, FakeCluster, FakeRunner, SimJob, seen_jobs};
use super::stations;
use crate::database::{ANNOTATION, is_mark};
use crate::script::TEXTS;

/// A violated property.
pub(super) struct Broken {
    pub(super) property: &'static str,
    pub(super) what: String,
    pub(super) log: Vec<String>,
}

/// A running history.
pub(super) struct Voyage<'a> {
    draft: &'a Draft,
    fake_cluster: FakeCluster,
    pilots: Vec<FakeRunner>,
    /// Objects before any event.
    before: BTreeMap<String, Value>,
    /// The rollout changed direction, or may do so automatically.
    turned: bool,
    /// Objects with manually done Jobs, objects with changed labels, and objects left when the rollout was aborted.
    by_hand: BTreeSet<String>,
    relabelled: BTreeSet<String>,
    left: BTreeSet<String>,
    /// Objects whose rollout annotation another client has overwritten.
    noted: BTreeSet<String>,
    met: BTreeSet<&'static str>,
    broken: Option<(&'static str, String)>,
}

impl<'a> Voyage<'a> {
    pub(super) fn new(draft: &'a Draft) -> Self {
        let mut fake_cluster = FakeCluster::new(stations::kind(draft), stations::rollout(draft));
        for at in 0..draft.objects {
            fake_cluster.create(at < draft.canaries);
        }
        Self {
            draft,
            before: fake_cluster.objects.clone(),
            pilots: (0..draft.runners).map(|_| FakeRunner::started(fake_cluster.now)).collect(),
            fake_cluster,
            turned: draft.on_failure != "Pause",
            by_hand: BTreeSet::new(),
            relabelled: BTreeSet::new(),
            left: BTreeSet::new(),
            noted: BTreeSet::new(),
            met: BTreeSet::new(),
            broken: None,
        }
    }

    pub(super) fn run(&mut self) -> Option<Broken> {
        for event in &self.draft.script {
            self.happens(*event);
            if self.broken.is_some() {
                break;
            }
        }
        if self.broken.is_none() {
            self.quiet();
        }
        let (property, what) = self.broken.take()?;
        Some(Broken { property, what, log: std::mem::take(&mut self.fake_cluster.log) })
    }

    /// The final phase, and the situations that occurred.
    pub(super) fn ends(&self) -> Vec<String> {
        let phase = format!("{:?}", self.fake_cluster.status().phase);
        self.met.iter().map(|met| (*met).to_owned()).chain([phase]).collect()
    }

    fn breaks(&mut self, property: &'static str, what: String) {
        self.broken.get_or_insert((property, what));
    }

    fn happens(&mut self, event: Event) {
        let fake_cluster = &mut self.fake_cluster;
        if !matches!(event, Event::Step(_)) {
            fake_cluster.log.push(format!("{} {event:?}", fake_cluster.now));
        }
        let name = |at: usize| format!("b-{at}");
        match event {
            Event::Step(at) => self.step(at),
            Event::Kill(at) => self.pilots[at] = FakeRunner::started(fake_cluster.now),
            Event::Lost(at) => self.pilots[at].lost = true,
            Event::Tick(seconds) => fake_cluster.now += seconds,
            Event::Ends(at, well) => {
                let running = fake_cluster.running();
                if let Some(title) = running.get(at % running.len().max(1)) {
                    fake_cluster.ends(title, well);
                }
            }
            Event::Drop(at) => {
                // Only observed Jobs are deleted: a Job deleted before its first observation is unknown to every
                // runner.
                let seen = seen_jobs(&fake_cluster.status());
                if let Some(title) = seen.iter().nth(at % seen.len().max(1)) {
                    fake_cluster.gone.extend(fake_cluster.jobs.remove(title));
                }
            }
            Event::ByHand(at) => {
                if let Some(object) = fake_cluster.objects.get_mut(&name(at)) {
                    object["status"]["level"] = json!("v2");
                    self.by_hand.insert(name(at));
                }
            }
            Event::Deny(at) => fake_cluster.denied = at.map(name),
            Event::Delete(at) => drop(fake_cluster.objects.remove(&name(at))),
            Event::Create => {
                let at = fake_cluster.created;
                fake_cluster.create(false);
                self.before.insert(name(at), fake_cluster.objects[&name(at)].clone());
            }
            Event::Relabel(at) => self.relabel(&name(at)),
            Event::Notes(at, text) => self.notes(&name(at), TEXTS[text]),
            Event::Resume => fake_cluster.resume(),
            Event::Pause => fake_cluster.set("paused", json!(true)),
            Event::Forward => self.turns("Forward"),
            Event::Back => self.turns("Undo"),
            Event::Stop => self.turns("Abort"),
        }
    }

    /// Toggles the canary label of an object.
    fn relabel(&mut self, name: &str) {
        let Some(object) = self.fake_cluster.objects.get_mut(name) else { return };
        let is_canary = !object["metadata"]["labels"]["rollout"].is_null();
        for object in [Some(object), self.before.get_mut(name)].into_iter().flatten() {
            let metadata = object["metadata"].as_object_mut().unwrap();
            let labels = metadata.entry("labels").or_insert(json!({})).as_object_mut().unwrap();
            if is_canary {
                labels.remove("rollout");
            } else {
                labels.insert("rollout".to_owned(), json!("canary"));
            }
            if labels.is_empty() {
                metadata.remove("labels");
            }
        }
        self.relabelled.insert(name.to_owned());
    }

    fn notes(&mut self, name: &str, text: &str) {
        let Some(object) = self.fake_cluster.objects.get_mut(name) else { return };
        object["metadata"]["annotations"][ANNOTATION] = json!(text);
        self.noted.insert(name.to_owned());
        // From now on the wave of the object is unknown.
        self.relabelled.insert(name.to_owned());
    }

    /// A client follows the messages and removes annotation texts that no rollout has written.
    fn takes_texts_off(&mut self) {
        for name in &self.noted {
            let Some(object) = self.fake_cluster.objects.get_mut(name) else { continue };
            let Some(annotations) = object["metadata"]["annotations"].as_object_mut() else { continue };
            if annotations.get(ANNOTATION).is_some_and(|text| mark_of(text).is_none()) {
                annotations.remove(ANNOTATION);
            }
        }
    }

    fn turns(&mut self, direction: &str) {
        self.turned = true;
        self.fake_cluster.set("direction", json!(direction));
    }

    fn step(&mut self, at: usize) {
        let call = self.pilots[at].step(at, &mut self.fake_cluster);
        let now = self.fake_cluster.now;
        match call {
            Call::Nothing => {}
            Call::Planned(plan) => {
                let object_states = &plan.object_states;
                if plan.status.phase == RolloutPhase::Complete && !self.fake_cluster.status().is_over() {
                    self.is_complete();
                }
                if !plan.writes.is_empty() {
                    self.fake_cluster
                        .log
                        .push(format!("{now} fake_runner {at} plans {} {object_states:?}", plan.status.message));
                }
            }
            Call::Status(status) => {
                self.fake_cluster
                    .log
                    .push(format!("{now} fake_runner {at} writes {:?} {:?}", status.phase, status.in_flight));
                self.met.extend(status.failures.iter().any(|one| one.reason == "JobFailed").then_some("JobFailed"));
                self.is_settled(&status);
            }
            Call::Patched(before, name) => {
                let marked = &self.fake_cluster.objects[&name]["metadata"]["annotations"][ANNOTATION];
                self.fake_cluster.log.push(format!("{now} fake_runner {at} writes {name}: {marked}"));
                self.goes_one_step(&before, &name);
            }
            Call::Job(job, is_new) => {
                let told = &job.body["metadata"]["annotations"]["pointsman.dev/step"];
                self.fake_cluster
                    .log
                    .push(format!("{now} fake_runner {at} runs {} for {told} (new: {is_new})", job.name));
                if is_new {
                    self.is_due(&job);
                }
            }
        }
        self.keeps_the_budget();
    }

    /// The steps for the objects of a wave.
    fn drawn(&self, wave: &str) -> &'a [Drawn] {
        if wave == "again" { &self.draft.more } else { &self.draft.steps }
    }

    /// The waves of an object: a started wave is kept even if the labels change later.
    fn waves(&self, object: &Value, steps: &[&BTreeMap<String, usize>]) -> Vec<&'static str> {
        let has_begun = |wave: &&str| steps.iter().any(|steps| steps.contains_key(*wave));
        let is_canary = self.draft.canaries > 0 && !object["metadata"]["labels"]["rollout"].is_null();
        let first = ["canary", "rest"].into_iter().find(has_begun);
        let first = first.unwrap_or(if is_canary { "canary" } else { "rest" });
        [Some(first), (!self.draft.more.is_empty()).then_some("again")].into_iter().flatten().collect()
    }

    fn is_half_way(&self, object: &Value) -> bool {
        steps_of(object).iter().any(|(wave, done)| *done < self.drawn(wave).len())
    }

    fn keeps_the_budget(&mut self) {
        let running: Vec<String> = self.fake_cluster.running();
        let about = |title: &String| node(&self.fake_cluster.jobs[title].body);
        let busy: BTreeSet<String> = running.iter().filter_map(about).collect();
        // A deleted object keeps its slot until its Job has ended.
        let half =
            self.fake_cluster.objects.iter().filter(|(_, object)| self.is_half_way(object)).map(|(name, _)| name);
        let under_way: BTreeSet<&String> = busy.iter().chain(half).filter(|name| !self.left.contains(*name)).collect();
        if under_way.len() > self.draft.max_in_flight {
            let what = format!("{under_way:?} are under way");
            self.breaks("objects in flight stay within maxInFlight", what);
        }
        // If a client removes the record of a deleted Job, the Job runs again.
        let twice = self.fake_cluster.made.iter().find(|(_, times)| **times > 1 && self.noted.is_empty());
        if let Some((title, times)) = twice {
            let what = format!("{title} was run {times} times");
            self.breaks("a Job runs once for each attempt", what);
        }
    }

    /// A write of an object applies or reverts exactly one step of one wave, at the right time.
    fn goes_one_step(&mut self, before: &Value, name: &str) {
        let now = self.fake_cluster.objects[name].clone();
        let (was, is) = (steps_of(before), steps_of(&now));
        let waves = self.waves(&now, &[&was, &is]);
        let done = |steps: &BTreeMap<String, usize>, wave: &str| steps.get(wave).copied().unwrap_or_default();
        let changed: Vec<&&str> = waves.iter().filter(|wave| done(&was, wave) != done(&is, wave)).collect();
        let [wave] = changed.as_slice() else {
            return self.breaks("a write applies one step of one wave", format!("{name}: {was:?} to {is:?}"));
        };
        let (from, to) = (done(&was, wave), done(&is, wave));
        if from.abs_diff(to) != 1 {
            return self.breaks("steps are applied and reverted in order", format!("{name}: {from} to {to} of {wave}"));
        }
        let others = waves.iter().filter(|other| *other != *wave);
        for other in others {
            let is_before = *other != "again";
            let is_wrong = if is_before { done(&is, other) < self.drawn(other).len() } else { done(&is, other) > 0 };
            // A client that overwrites the annotation removes the record of earlier waves.
            if is_wrong && !self.noted.contains(name) {
                return self.breaks("waves of an object run in sequence", format!("{name}: {is:?}"));
            }
        }
        self.is_at_its_time(name, wave, from.min(to), to > from);
        if to > from && from == 0 {
            self.is_the_turn_of(name, wave);
        }
    }

    /// The condition of a step holds when the step is done, and no step bypasses a running Job.
    fn is_at_its_time(&mut self, name: &str, wave: &str, step: usize, forward: bool) {
        let drawn = self.drawn(wave)[step];
        let object = &self.fake_cluster.objects[name];
        let is_there = object["status"]["level"] == "v2";
        let title = format!("{wave}: ");
        let jobs: Vec<_> = self
            .fake_cluster
            .jobs
            .values()
            .chain(&self.fake_cluster.gone)
            .filter(|job| node(&job.body).as_deref() == Some(name) && told(&job.body).starts_with(&title))
            .collect();
        let runs = self
            .fake_cluster
            .running()
            .iter()
            .any(|job| node(&self.fake_cluster.jobs[job].body).as_deref() == Some(name));
        let (ended_well, none) = (jobs.iter().any(|job| job.end == Some(true)), jobs.is_empty());
        if self.noted.contains(name) {
            return;
        }
        if runs {
            self.breaks("no step bypasses a running Job", format!("{name}: step {step} of {wave}"));
        } else if forward && !self.turned {
            let holds = match drawn {
                Drawn::Wait => is_there,
                Drawn::Job | Drawn::Irreversible => ended_well,
                Drawn::Until => is_there,
                Drawn::Lock | Drawn::Deep | Drawn::Unset => true,
            };
            if !holds {
                self.breaks("a step is complete when its condition holds", format!("{name}: {drawn:?} of {wave}"));
            }
        }
        self.met.extend((drawn == Drawn::Until && forward && none).then_some("by hand"));
    }

    /// Waves run in sequence, after the Jobs between them.
    fn is_the_turn_of(&mut self, name: &str, wave: &str) {
        let from_the_beginning = |at: usize| format!("b-{at}");
        let others = (0..self.draft.objects).map(from_the_beginning);
        let others: Vec<String> = others.filter(|name| !self.relabelled.contains(name)).collect();
        if self.turned || !others.contains(&name.to_owned()) {
            return;
        }
        let is_open = |other: &String, wave: &str| {
            let object = self.fake_cluster.objects.get(other)?;
            let goes = self.waves(object, &[&steps_of(object)]).contains(&wave);
            let done = steps_of(object).get(wave).copied().unwrap_or_default();
            (goes && done < self.drawn(wave).len()).then_some(())
        };
        let earlier: &[&str] = match wave {
            "canary" => &[],
            "rest" => &["canary"],
            _ => &["canary", "rest"],
        };
        let open = others.iter().find(|other| earlier.iter().any(|wave| is_open(other, wave).is_some()));
        if let Some(open) = open.cloned() {
            self.breaks("waves start in order", format!("{name} before {open}"));
        }
        let all = self.fake_cluster.jobs.values().chain(&self.fake_cluster.gone);
        let mut between = all.filter(|job| told(&job.body).starts_with("between: "));
        if wave != "canary" && self.draft.run.is_some() && !between.any(|job| job.end == Some(true)) {
            self.breaks("the Jobs of a wave end before the next wave", name.to_owned());
        }
    }

    /// A Job is created for the next step, and only while no other Job of its object runs.
    fn is_due(&mut self, job: &JobWrite) {
        let told = told(&job.body);
        let Some(name) = node(&job.body) else { return };
        let title = format!("{}/{}", job.namespace, job.name);
        let running = self.fake_cluster.running();
        if let Some(other) = running
            .iter()
            .find(|other| **other != title && node(&self.fake_cluster.jobs[*other].body).as_ref() == Some(&name))
            .filter(|_| !self.noted.contains(&name))
        {
            return self.breaks("an object has one Job at a time", format!("{name}: {title} beside {other}"));
        }
        let (wave, step) = told.split_once(": ").unwrap();
        let step = step.split_once(" of ").unwrap().0;
        let is_it = |drawn: &Drawn| match drawn {
            Drawn::Job => step == "job",
            Drawn::Until => step == "until",
            Drawn::Irreversible => step.starts_with("never"),
            _ => false,
        };
        let at = self.drawn(wave).iter().position(is_it).unwrap();
        let undoes = env(&job.body, "UNDOES").is_some();
        self.met.extend(undoes.then_some("undone"));
        let of_it = |other: &SimJob| self::told(&other.body) == told && env(&other.body, "UNDOES").is_none();
        if undoes && !self.fake_cluster.jobs.values().chain(&self.fake_cluster.gone).any(of_it) {
            return self.breaks("a Job reverts only the step of an earlier Job", told);
        }
        let Some(object) = self.fake_cluster.objects.get(&name).filter(|_| !self.noted.contains(&name)) else { return };
        let done = steps_of(object).get(wave).copied().unwrap_or_default();
        if done != at + usize::from(undoes) {
            self.breaks("a Job belongs to the next step", format!("{told}, and {done} steps are done"));
        }
    }

    /// At the end no object is in flight and no Job runs.
    fn is_settled(&mut self, status: &RolloutStatus) {
        // Objects that an abort could not revert are reported, until an operator resumes.
        if status.direction == Direction::Abort {
            self.left.extend(status.failures.iter().filter_map(|one| Some(one.object.strip_prefix("n/")?.to_owned())));
        }
        if !status.is_over() {
            return;
        }
        let is_half = |(name, object): &(&String, &Value)| self.is_half_way(object) && !self.left.contains(*name);
        let half = self.fake_cluster.objects.iter().find(is_half);
        if let Some(name) = half.map(|(name, _)| name.clone()) {
            self.breaks("no object is partly moved at the end", name);
        }
        if let Some(job) = self.fake_cluster.running().first() {
            self.breaks("no Job runs at the end", job.clone());
        }
    }

    /// A complete rollout leaves no pending object in the state at its decision.
    fn is_complete(&mut self) {
        let is_left = |object: &Value| {
            let steps = steps_of(object);
            self.waves(object, &[&steps]).iter().any(|wave| steps.get(*wave) != Some(&self.drawn(wave).len()))
        };
        let left = self.fake_cluster.objects.iter().find(|(_, object)| is_left(object)).map(|(name, _)| name.clone());
        if let Some(name) = left {
            self.breaks("a complete rollout has no pending objects", name);
        }
    }

    /// All errors stop: the rollout ends.
    fn quiet(&mut self) {
        self.fake_cluster.log.push("quiet".to_owned());
        self.fake_cluster.denied = None;
        let (mut helped, mut still) = (0, 0);
        for _ in 0..1_500 {
            self.fake_cluster.now += 6;
            for title in self.fake_cluster.running() {
                self.fake_cluster.ends(&title, true);
            }
            let (version, objects) = (self.fake_cluster.version, self.fake_cluster.objects.clone());
            self.step(0);
            if self.broken.is_some() {
                return;
            }
            still = if version == self.fake_cluster.version && objects == self.fake_cluster.objects {
                still + 1
            } else {
                0
            };
            if still < 12 {
                continue;
            }
            let status = self.fake_cluster.status();
            if status.is_over() {
                return self.is_home(&status);
            }
            if helped < 12 {
                if helped == 6 {
                    self.takes_texts_off();
                }
                (helped, still) = (helped + 1, 0);
                // An aborting rollout needs no resume: it ends by itself.
                if status.direction == Direction::Abort {
                    self.fake_cluster.set("paused", json!(false));
                } else {
                    self.fake_cluster.resume();
                }
                continue;
            }
            let what = format!("{:?}, and says {:?}", status.phase, status.message);
            return self.breaks("a rollout ends or reports the cause of its wait", what);
        }
        self.breaks("a rollout ends or reports the cause of its wait", "it does not end".to_owned());
    }

    /// A reverted object equals its initial state, except for irreversible steps.
    fn is_home(&mut self, status: &RolloutStatus) {
        if status.direction != Direction::Undo || status.phase != RolloutPhase::Aborted {
            return;
        }
        let is_for_good =
            [&self.draft.steps, &self.draft.more].iter().any(|steps| steps.contains(&Drawn::Irreversible));
        let all = self.fake_cluster.objects.iter();
        let away = all.clone().find(|(name, object)| {
            let was = &self.before[*name];
            let is_stuck = is_for_good && !steps_of(object).is_empty();
            !is_stuck
                && !self.noted.contains(*name)
                && (object["metadata"] != was["metadata"]
                    || object["spec"] != was["spec"]
                    || (object["status"] != was["status"] && !self.by_hand.contains(*name)))
        });
        match away.map(|(name, object)| format!("{name}: {object} and not {}", self.before[name])) {
            Some(what) => self.breaks("an undo restores the state before the move", what),
            None => drop(self.met.insert("home")),
        }
    }
}

/// Number of completed steps per wave, by the object's annotation.
fn steps_of(object: &Value) -> BTreeMap<String, usize> {
    let Some(mark) = mark_of(&object["metadata"]["annotations"][ANNOTATION]) else { return BTreeMap::new() };
    serde_json::from_value(mark.get("step").cloned().unwrap_or_else(|| json!({}))).unwrap()
}

/// The annotation of any rollout; `None` if another client wrote the text.
fn mark_of(text: &Value) -> Option<Value> {
    serde_json::from_str(text.as_str()?).ok().filter(is_mark)
}

fn told(job: &Value) -> String {
    job["metadata"]["annotations"]["pointsman.dev/step"].as_str().unwrap().to_owned()
}

fn env(job: &Value, name: &str) -> Option<String> {
    let env = job["spec"]["template"]["spec"]["containers"][0]["env"].as_array()?;
    Some(env.iter().find(|one| one["name"] == name)?["value"].as_str()?.to_owned())
}

fn node(job: &Value) -> Option<String> {
    env(job, "NODE")
}
