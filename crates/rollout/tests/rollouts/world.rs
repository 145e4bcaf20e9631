//! A cluster reduced to the parts that a rollout uses: objects, controllers, a StagedRollout, and actions of other
//! clients.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_rollout::{ClockReading, Rollout, RolloutStatus, answered_rollout};
use serde_json::{Map, Value, json};

use super::database::Database;
use super::script::{Gates, LARGE, Setup, Stranger};

pub(super) const LABEL: &str = "example.com/controller-version";
pub(super) const OLD: &str = "2.16.0";
pub(super) const NEW: &str = "2.17.0";
/// Neither the old nor the new version.
pub(super) const OTHER: &str = "2.15.0";
/// Soak time after the last canary, in seconds, if there are canaries.
pub(super) const SOAK: u64 = 30;
/// Seconds between the end of the canary wave and the start of the next wave, if there are canaries.
pub(super) const LATER: u64 = 20;
pub(super) const CONTROLLER: &str = "databaser";
/// Field manager of the old version's controller.
const OLD_CONTROLLER: &str = "oarsman";
pub(super) const GITOPS: &str = "kustomize-controller";
/// Start time of a history, in seconds since 1970.
pub(super) const BEGINNING: u64 = 1_795_000_000;

/// Why the API server or a webhook did not accept a write.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum NotWritten {
    /// Deleted, or changed since the read.
    Stale,
    /// An admission webhook rejected the write.
    Refused(String),
    /// An admission webhook did not answer.
    Down,
}

/// A cluster.
pub(super) struct World {
    /// Objects by name.
    pub(super) objects: BTreeMap<String, Database>,
    /// Objects as caches and watches return them.
    pub(super) cache: BTreeMap<String, Database>,
    /// Revision of the last write that the cache contains.
    pub(super) cached_until: u64,
    /// The spec of the StagedRollout.
    pub(super) spec: Value,
    /// The current status of the StagedRollout.
    pub(super) status: Rc<RolloutStatus>,
    /// The StagedRollout's version, serves as resourceVersion.
    pub(super) version: u64,
    /// Seconds since 1970.
    pub(super) now: u64,
    pub(super) down: bool,
    /// The new controller is not running.
    pub(super) dead: bool,
    /// A lighthouse is dark.
    pub(super) dark: bool,
    /// A buoy is invisible.
    pub(super) fog: bool,
    made: usize,
    named: usize,
    /// Revision of the last object write.
    revision: u64,
    refused: BTreeSet<String>,
    /// Objects that a rollout has written and that no controller has reported healthy since, by uid.
    pub(super) in_flux: BTreeSet<String>,
    /// Revision of the controller's first healthy report after a move, by uid.
    pub(super) answered: BTreeMap<String, u64>,
    /// Objects to which the next controller wrote in the second of their move: an answer within that second leaves no
    /// trace in `managedFields`.
    pub(super) blurred: BTreeSet<String>,
    /// The controllers of both versions share one field manager.
    one_manager: bool,
    /// Creation times, by uid.
    pub(super) created: BTreeMap<String, u64>,
    /// Objects that existed at the start.
    pub(super) first: BTreeSet<String>,
    /// Initial label of each object, by uid.
    pub(super) before: BTreeMap<String, Option<String>>,
    /// Objects that other clients changed: an undo need not restore these.
    pub(super) touched: BTreeSet<String>,
    /// Objects whose rollout annotation another client has overwritten, possibly before the watch event.
    pub(super) forged: BTreeSet<String>,
    /// Objects that other clients reverted after a rollout's move.
    pub(super) turned: BTreeSet<String>,
    /// Held objects that other clients requested to move, by uid.
    pub(super) asked: BTreeSet<String>,
    /// A held object that moved anyway.
    pub(super) slipped: Option<String>,
    /// An object without a record of its requested version.
    pub(super) unheard: Option<String>,
    /// Objects that other clients released, by uid.
    pub(super) freed: BTreeSet<String>,
    /// An object whose rollout annotation another client removed.
    pub(super) unmarked: Option<String>,
    /// The admission webhook has no support for holds and rollout annotations.
    pub(super) unaware: bool,
    /// Holder of the rollout's Lease, and time of the last renewal.
    lease: Option<(usize, u64)>,
    /// Log of events, if enabled.
    pub(super) log: Option<Vec<String>>,
}

impl World {
    pub(super) fn new(setup: &Setup) -> Self {
        let mut world = Self {
            objects: BTreeMap::new(),
            cache: BTreeMap::new(),
            cached_until: 0,
            spec: spec(setup),
            status: Rc::default(),
            version: 1,
            now: BEGINNING,
            down: false,
            dead: false,
            dark: false,
            fog: false,
            made: 0,
            named: 0,
            revision: 0,
            refused: BTreeSet::new(),
            in_flux: BTreeSet::new(),
            answered: BTreeMap::new(),
            blurred: BTreeSet::new(),
            one_manager: setup.one_manager,
            created: BTreeMap::new(),
            first: BTreeSet::new(),
            before: BTreeMap::new(),
            touched: BTreeSet::new(),
            forged: BTreeSet::new(),
            turned: BTreeSet::new(),
            asked: BTreeSet::new(),
            slipped: None,
            unheard: None,
            freed: BTreeSet::new(),
            unmarked: None,
            unaware: false,
            lease: None,
            log: None,
        };
        for at in 0..setup.objects {
            let is_elsewhere = setup.elsewhere && at + 1 == setup.objects;
            let label = if is_elsewhere { OTHER } else { OLD };
            let label = (setup.from || at % 3 != 2).then_some(label);
            let name = world.create(label, at < setup.canaries);
            if at >= setup.objects - setup.owned.min(setup.objects) {
                world.write(&name, |object, now| object.written(GITOPS, "Apply", now, true));
            } else if at >= setup.objects - (setup.owned + setup.refused).min(setup.objects) {
                world.refused.insert(name);
            }
        }
        for (at, by) in (0..setup.stale[0]).map(|at| (at, "q")).chain((0..setup.stale[1]).map(|at| (at + 2, "r"))) {
            world.write(&world.name(at), |object, _| object.holds(by));
        }
        world.first = world.created.keys().cloned().collect();
        world.sync();
        world
    }

    /// Updates the cache to the current state.
    pub(super) fn sync(&mut self) {
        (self.cache, self.cached_until) = (self.objects.clone(), self.revision);
    }

    /// Logs an event, if the log is enabled.
    pub(super) fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(what());
        }
    }

    /// Lighthouses, one possibly dark; or buoys, one possibly invisible.
    pub(super) fn others(&self, plural: &str) -> Vec<Value> {
        let (condition, is_fine) = match plural {
            "lighthouses" => ("Lit", !self.dark),
            "buoys" => ("Seen", !self.fog),
            other => panic!("nobody asks for {other}"),
        };
        let one = |name: &str, is_fine: bool| {
            let status = if is_fine { "True" } else { "False" };
            json!({"metadata": {"name": name}, "status": {"conditions": [{"type": condition, "status": status}]}})
        };
        vec![one("east", true), one("west", is_fine)]
    }

    /// Acquires or renews the Lease for a runner. Returns true on success. A Lease without renewal for 15 s is free.
    pub(super) fn leases(&mut self, runner: usize) -> bool {
        let free = self.lease.is_none_or(|(holder, renewed)| holder == runner || self.now - renewed > 15);
        if free {
            self.lease = Some((runner, self.now));
        }
        free
    }

    pub(super) fn name(&self, at: usize) -> String {
        format!("b-{at}")
    }

    pub(super) fn create(&mut self, label: Option<&str>, canary: bool) -> String {
        let name = self.name(self.named);
        self.named += 1;
        self.create_named(&name, label, canary);
        name
    }

    fn create_named(&mut self, name: &str, label: Option<&str>, canary: bool) {
        self.made += 1;
        let uid = format!("uid-{}", self.made);
        let mut metadata = json!({"namespace": "n", "name": name, "uid": uid, "generation": 1});
        let mut labels = Map::new();
        labels.extend(label.map(|label| (LABEL.to_owned(), json!(label))));
        labels.extend(canary.then(|| ("rollout".to_owned(), json!("canary"))));
        if !labels.is_empty() {
            metadata["labels"] = Value::Object(labels);
        }
        if self.made.is_multiple_of(2) {
            metadata["annotations"] = json!({"a": "b"});
        }
        self.before.insert(uid.clone(), label.map(str::to_owned));
        self.created.insert(uid, self.now);
        self.objects.insert(name.to_owned(), Database::new(metadata));
        self.look(name, true);
    }

    /// Creates an object with a hold.
    pub(super) fn create_held(&mut self, by: (&str, &str)) {
        let name = self.create(Some(OLD), false);
        self.write(&name, |object, _| object.held_by(by));
    }

    /// A client follows the messages and removes annotation texts that no rollout has written.
    pub(super) fn takes_texts_off(&mut self) {
        let with_text = self.objects.iter().filter(|(_, object)| object.has_text());
        let names: Vec<String> = with_text.map(|(name, _)| name.clone()).collect();
        names.iter().for_each(|name| drop(self.write(name, |object, _| object.takes_off())));
    }

    /// Replaces an existing object by another one with the same name.
    pub(super) fn recreate(&mut self, name: &str) {
        if let Some(canary) = self.objects.get(name).map(Database::is_canary) {
            self.delete(name);
            self.create_named(name, Some(OLD), canary);
        }
    }

    pub(super) fn delete(&mut self, name: &str) {
        if let Some(object) = self.objects.remove(name) {
            self.in_flux.remove(object.uid());
        }
    }

    /// A client deletes an object, and a finalizer keeps it: an undo need not restore it.
    pub(super) fn keep(&mut self, name: &str) {
        if self.objects.get(name).is_some_and(|object| !object.is_going()) {
            let uid = self.write(name, Database::deleted);
            self.touched.extend(uid);
        }
    }

    /// The finalizer's owner removes the finalizer.
    pub(super) fn let_go(&mut self, name: &str) {
        if self.objects.get(name).is_some_and(Database::is_going) {
            self.delete(name);
        }
    }

    /// Removes the finalizers of all kept objects.
    pub(super) fn let_all_go(&mut self) {
        let going = self.objects.iter().filter(|(_, object)| object.is_going());
        let names: Vec<String> = going.map(|(name, _)| name.clone()).collect();
        names.iter().for_each(|name| self.let_go(name));
    }

    /// Writes an object and returns its uid; `None` if the object is absent.
    fn write(&mut self, name: &str, write: impl FnOnce(&mut Database, u64)) -> Option<String> {
        let object = self.objects.get_mut(name)?;
        write(object, self.now);
        self.revision += 1;
        object.revision = self.revision;
        Some(object.uid().to_owned())
    }

    /// Field manager of the object's current controller.
    fn manager_of(&self, object: &Database) -> &'static str {
        if object.label() == Some(OLD) && !self.one_manager { OLD_CONTROLLER } else { CONTROLLER }
    }

    /// The object's current controller reports the health.
    pub(super) fn look(&mut self, name: &str, healthy: bool) {
        let Some(manager) = self.objects.get(name).map(|object| self.manager_of(object)) else { return };
        let uid = self.write(name, |object, now| object.looked_at(manager, healthy, now));
        if let Some(uid) = uid.filter(|_| healthy)
            && self.in_flux.remove(&uid)
        {
            self.answered.insert(uid, self.revision);
        }
    }

    pub(super) fn noise(&mut self, name: &str) {
        self.write(name, Database::noise);
    }

    /// The old controller writes to an object. If the object is its own, the write counts as an answer.
    pub(super) fn old_writes(&mut self, name: &str) {
        let Some(object) = self.objects.get(name) else { return };
        if self.manager_of(object) == OLD_CONTROLLER {
            return self.look(name, object.is_ready());
        }
        self.write(name, |object, now| object.written(OLD_CONTROLLER, "Update", now, false));
    }

    /// An operator prioritizes an object, whether it exists or not.
    pub(super) fn tell(&mut self, at: usize) {
        let title = format!("n/{}", self.name(at));
        let mut next = self.spec["prioritizedObjects"].as_array().cloned().unwrap_or_default();
        if !next.contains(&json!(title)) {
            next.push(json!(title));
            self.set("prioritizedObjects", json!(next));
        }
    }

    /// Position of an object among the prioritized objects.
    pub(super) fn told(&self, title: &str) -> usize {
        let next = self.spec["prioritizedObjects"].as_array();
        next.and_then(|next| next.iter().position(|told| told == title)).unwrap_or(usize::MAX)
    }

    /// A client sets a member of the spec.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.spec[name] = value;
        self.version += 1;
    }

    /// A client writes the status as JSON.
    pub(super) fn put(&mut self, status: &RolloutStatus) {
        self.status = Rc::new(RolloutStatus::of(&json!({"status": status.to_json()})));
        self.version += 1;
    }

    /// A command changes the status.
    pub(super) fn change(&mut self, kind: &Kind, change: impl FnOnce(&mut RolloutStatus, &Rollout, ClockReading)) {
        let mut status = RolloutStatus::clone(&self.status);
        change(&mut status, &self.rollout(kind), ClockReading { wall: self.now, steady: Duration::ZERO });
        self.put(&status);
    }

    /// The compiled StagedRollout. Compiling takes longer than a step of a history, so the result is shared by many
    /// histories.
    pub(super) fn rollout(&self, kind: &Kind) -> Rc<Rollout> {
        let compile = |text: &str| {
            let document = json!({
                "apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": "r", "uid": "rollout-1"},
                "spec": self.spec,
            });
            Rc::new(answered_rollout(&document, kind).unwrap_or_else(|bad| panic!("{text}: {bad}")))
        };
        let key = (std::ptr::from_ref(kind), self.spec.to_string());
        ROLLOUTS.with_borrow_mut(|rollouts| {
            if rollouts.len() >= MOST_ROLLOUTS {
                rollouts.clear();
            }
            Rc::clone(rollouts.entry(key).or_insert_with_key(|(_, text)| compile(text)))
        })
    }

    /// A GitOps tool sets the label again, by force. The tool does not own the rollout annotation.
    pub(super) fn turn_back(&mut self, name: &str) {
        self.stranger(name, Stranger::Applies(OLD));
        if let Some(uid) = self.objects.get(name).map(|object| object.uid().to_owned()) {
            self.touched.insert(uid);
        }
    }

    /// A client sets the label like the rollout, without the rollout annotation.
    pub(super) fn move_on(&mut self, name: &str) {
        if self.objects.get(name).is_some_and(|object| object.label() != Some(NEW)) {
            self.stranger(name, Stranger::Labels(NEW));
        }
    }

    /// Another client writes an object, and the write passes admission.
    pub(super) fn stranger(&mut self, name: &str, stranger: Stranger) {
        let Some(before) = self.objects.get(name).cloned() else { return };
        let unaware = self.unaware;
        self.write(name, |object, now| {
            let mut next = object.clone();
            does(stranger, &mut next, now);
            *object = if unaware { next } else { next.admitted(object, "somebody") };
        });
        let (uid, after) = (before.uid().to_owned(), self.objects[name].clone());
        let asks = match stranger {
            Stranger::Labels(version) | Stranger::Applies(version) => Some(version),
            _ => None,
        };
        if before.is_held() && !unaware {
            self.asked_of_held(name, stranger, (&before, &after));
        } else if after.wanted() != Some(NEW) {
            self.asked.remove(&uid);
        }
        if !after.is_held() && (before.is_held() || after.is_let_go()) {
            self.freed.insert(uid.clone());
        }
        // An apply of a label counts as a new request.
        let applies = matches!(stranger, Stranger::Applies(_));
        let unmarks = before.is_marked() && !after.is_marked();
        // Overwriting the annotation is intentional; leaving the annotation out is not.
        let says = matches!(stranger, Stranger::Notes(_));
        if says {
            self.forged.insert(uid.clone());
        }
        if unmarks && !unaware && !says {
            self.unmarked = Some(name.to_owned());
        }
        if applies || before.noted() != after.noted() && (unmarks || after.is_marked()) {
            self.touched.insert(uid.clone());
        }
        if unmarks {
            self.turned.remove(&uid);
        }
        let is_set = asks.is_some() && !before.is_held();
        if before.label() == after.label() && !is_set {
            return;
        }
        self.in_flux.remove(&uid);
        if after.label() == Some(NEW) {
            // This write supersedes the earlier revert.
            self.turned.remove(&uid);
        } else if before.label() == Some(NEW) && before.is_marked() {
            self.turned.insert(uid.clone());
        }
        self.touched.insert(uid);
    }

    /// A request for a held object is recorded, and nothing else changes.
    fn asked_of_held(&mut self, name: &str, stranger: Stranger, (before, after): (&Database, &Database)) {
        let uid = before.uid().to_owned();
        let asked = match stranger {
            Stranger::Labels(version) | Stranger::Applies(version) if before.label() != Some(version) => version,
            Stranger::Wishes(version) => version,
            Stranger::Takes(_) | Stranger::LetsGo => return,
            _ => before.wanted().unwrap_or_default(),
        };
        if after.label() != before.label() || !after.is_held() {
            self.slipped = Some(name.to_owned());
        }
        if after.wanted().unwrap_or_default() != asked {
            self.unheard = Some(name.to_owned());
        }
        if asked == NEW {
            self.asked.insert(uid);
        } else {
            self.asked.remove(&uid);
        }
    }

    /// The result of a JSON Patch.
    pub(super) fn try_patch(&self, name: &str, patch: &Value) -> Result<Database, NotWritten> {
        let next = self.objects.get(name).and_then(|object| object.patched(patch, self.now, !self.unaware));
        let next = next.ok_or(NotWritten::Stale)?;
        if self.down {
            return Err(NotWritten::Down);
        }
        let changes = self.objects[name].label() != next.label();
        if self.refused.contains(name) && changes {
            return Err(NotWritten::Refused("spec.power: too weak".to_owned()));
        }
        Ok(next)
    }

    /// Applies a JSON Patch as an API server does. Returns the previous label.
    pub(super) fn patch(&mut self, name: &str, patch: &Value) -> Result<Option<String>, NotWritten> {
        let next = self.try_patch(name, patch)?;
        let was = self.objects[name].label().map(str::to_owned);
        if was.as_deref() != next.label() {
            let uid = next.uid().to_owned();
            if next.last_write(self.manager_of(&next)) == Some(self.now) {
                self.blurred.insert(uid.clone());
            } else {
                self.blurred.remove(&uid);
            }
            self.answered.remove(&uid);
            self.in_flux.insert(uid);
        }
        self.write(name, |object, _| *object = next);
        Ok(was)
    }
}

/// Applies another client's write to an object.
fn does(stranger: Stranger, object: &mut Database, now: u64) {
    match stranger {
        // A no-op update writes nothing.
        Stranger::Labels(version) if object.label() == Some(version) => {}
        Stranger::Labels(version) => object.labelled(version, "kubectl-label", "Update", now),
        Stranger::Applies(version) => object.labelled(version, GITOPS, "Apply", now),
        Stranger::Replaces => object.without_annotations(),
        Stranger::LetsGo if object.is_held() => object.lets_go(),
        Stranger::LetsGo => {}
        Stranger::Takes(version) => {
            object.lets_go();
            does(Stranger::Labels(version), object, now);
        }
        Stranger::Wishes(version) => object.wishes(version),
        Stranger::Restores => object.holds("q"),
        Stranger::Notes(LARGE) => object.notes(&"x".repeat(100_000)),
        Stranger::Notes(text) => object.notes(text),
    }
}

thread_local! {
    /// Compiled StagedRollouts, by kind and document.
    static ROLLOUTS: RefCell<HashMap<(*const Kind, String), Rc<Rollout>>> = RefCell::default();
}

/// Entry limit; each entry takes some ten kilobytes.
const MOST_ROLLOUTS: usize = 4_000;

/// The last or only wave.
fn rest(setup: &Setup, max_in_flight: &Value) -> Value {
    let Gates { rest_approved, rest_checked, rest_later, end_checked, .. } = setup.gates;
    let mut wave = json!({"name": "rest", "maxInFlight": max_in_flight});
    let mut before = Vec::new();
    if setup.canaries > 0 {
        before.extend(rest_checked.then(|| json!("checks")));
        before.extend(rest_later.then(|| json!({"wait": format!("{LATER}s")})));
        before.extend(rest_approved.then(|| json!("approval")));
    }
    if !before.is_empty() {
        wave["before"] = json!(before);
    }
    if end_checked {
        wave["after"] = json!("checks");
    }
    wave
}

/// The spec of the StagedRollout.
fn spec(setup: &Setup) -> Value {
    let max_in_flight: Value = serde_json::from_str(&setup.max_in_flight).unwrap();
    let mut waves = Vec::new();
    if setup.canaries > 0 {
        let mut wave = json!({"name": "canary", "selector": {"labels": "rollout=canary"}, "maxInFlight": 1});
        wave["after"] = match (setup.approval, setup.gates.canaries_checked) {
            (true, true) => json!(["checks", "approval"]),
            (true, false) => json!("approval"),
            (false, true) => json!("checks"),
            (false, false) => Value::Null,
        };
        if setup.soak {
            wave["soak"] = json!(format!("{SOAK}s"));
        }
        waves.push(wave);
    }
    waves.push(rest(setup, &max_in_flight));
    if setup.gates.first_approved {
        waves[0]["before"] = json!("approval");
    }
    let mut spec = json!({
        "kind": "database", "to": NEW, "waves": waves, "maxUnhealthy": setup.max_unhealthy, "timeout": "60s",
        "onFailure": setup.on_failure,
    });
    if setup.from {
        spec["from"] = json!(OLD);
    }
    if setup.hold {
        spec["hold"] = json!(true);
    }
    if setup.takes_over {
        spec["takeOver"] = json!(true);
    }
    spec
}
