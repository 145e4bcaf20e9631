//! A cluster as far as a roll can tell: objects, controllers, a Roll, and what others do.

use std::collections::{BTreeMap, BTreeSet};

use pointsman_core::roll::{ROLL_MANAGER, rfc3339};
use serde_json::{Map, Value, json};

use super::script::Setup;

pub(super) const LABEL: &str = "example.com/controller-version";
pub(super) const ANNOTATION: &str = "pointsman.dev/roll";
pub(super) const OLD: &str = "2.16.0";
pub(super) const NEW: &str = "2.17.0";
/// Neither of them.
pub(super) const OTHER: &str = "2.15.0";
/// Seconds after the last canary in which nothing goes on, where there are any.
pub(super) const SOAK: u64 = 30;
pub(super) const CONTROLLER: &str = "boatman";
/// That of the old version.
const OLD_CONTROLLER: &str = "oarsman";
pub(super) const GITOPS: &str = "kustomize-controller";

/// Why the API server, or whoever it asked, did not take a write.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum NotWritten {
    /// Gone, or another one by now.
    Stale,
    /// An admission webhook said no.
    Refused(String),
    /// An admission webhook did not answer.
    Down,
}

/// A cluster.
#[derive(Clone)]
pub(super) struct World {
    /// By name.
    pub(super) objects: BTreeMap<String, Value>,
    /// What a cache knows.
    pub(super) cache: BTreeMap<String, Value>,
    pub(super) roll: Value,
    pub(super) version: u64,
    /// Seconds since 1970.
    pub(super) now: u64,
    pub(super) down: bool,
    /// The new controller does not run.
    pub(super) dead: bool,
    /// A lighthouse is dark.
    pub(super) dark: bool,
    made: usize,
    named: usize,
    refused: BTreeSet<String>,
    /// Objects that a roll has written and that nobody has found healthy since, by uid.
    pub(super) in_flux: BTreeSet<String>,
    /// When objects were created, by uid.
    pub(super) created: BTreeMap<String, u64>,
    /// What each object had for a label before anything happened, by uid.
    pub(super) before: BTreeMap<String, Option<String>>,
    /// What others did to objects: these need not come home.
    pub(super) touched: BTreeSet<String>,
    /// Objects that others turned back after a roll had moved them.
    pub(super) turned: BTreeSet<String>,
    /// Who holds the Lease of the roll, and since when it was not renewed.
    lease: Option<(usize, u64)>,
    pub(super) log: Vec<String>,
}

impl World {
    pub(super) fn new(setup: &Setup) -> Self {
        let mut world = Self {
            objects: BTreeMap::new(),
            cache: BTreeMap::new(),
            roll: roll(setup),
            version: 1,
            now: 1_795_000_000,
            down: false,
            dead: false,
            dark: false,
            made: 0,
            named: 0,
            refused: BTreeSet::new(),
            in_flux: BTreeSet::new(),
            created: BTreeMap::new(),
            before: BTreeMap::new(),
            touched: BTreeSet::new(),
            turned: BTreeSet::new(),
            lease: None,
            log: Vec::new(),
        };
        for at in 0..setup.objects {
            let is_elsewhere = setup.elsewhere && at + 1 == setup.objects;
            let label = if is_elsewhere { OTHER } else { OLD };
            let label = (setup.from || at % 3 != 2).then_some(label);
            let name = world.create(label, at < setup.canaries);
            if at >= setup.objects - setup.owned.min(setup.objects) {
                world.own_label(&name, GITOPS);
            } else if at >= setup.objects - (setup.owned + setup.refused).min(setup.objects) {
                world.refused.insert(name);
            }
        }
        world.cache = world.objects.clone();
        world
    }

    /// Lighthouses, one of which may be dark.
    pub(super) fn lighthouses(&self) -> Vec<Value> {
        let lit = |name: &str, lit: bool| {
            let status = if lit { "True" } else { "False" };
            json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Lit", "status": status}]}})
        };
        vec![lit("east", true), lit("west", !self.dark)]
    }

    /// Whether a runner holds the Lease, or takes it. One that was not renewed for 15 s is anybody's.
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
        let mut metadata = json!({"namespace": "n", "name": name, "uid": uid, "generation": 1, "managedFields": []});
        let mut labels = Map::new();
        labels.extend(label.map(|label| (LABEL.to_owned(), json!(label))));
        labels.extend(canary.then(|| ("roll".to_owned(), json!("canary"))));
        if !labels.is_empty() {
            metadata["labels"] = Value::Object(labels);
        }
        if self.made.is_multiple_of(2) {
            metadata["annotations"] = json!({"a": "b"});
        }
        self.before.insert(uid.clone(), label.map(str::to_owned));
        self.created.insert(uid, self.now);
        self.objects.insert(name.to_owned(), json!({"metadata": metadata, "spec": {}}));
        self.look(name, true);
    }

    /// Another object with the name of one that is there.
    pub(super) fn recreate(&mut self, name: &str) {
        if let Some(object) = self.objects.get(name).cloned() {
            self.delete(name);
            let canary = !object["metadata"]["labels"]["roll"].is_null();
            self.create_named(name, Some(OLD), canary);
        }
    }

    pub(super) fn delete(&mut self, name: &str) {
        if let Some(object) = self.objects.remove(name) {
            self.in_flux.remove(uid(&object));
        }
    }

    /// The controller in whose hands an object is writes what it finds.
    pub(super) fn look(&mut self, name: &str, healthy: bool) {
        let (now, Some(object)) = (self.now, self.objects.get_mut(name)) else { return };
        object["status"] = json!({"conditions": [{"type": "Ready", "status": if healthy { "True" } else { "False" }}]});
        entry(object, CONTROLLER, "Update", now, false);
        let object = &self.objects[name];
        if healthy && moved_at(object).is_none_or(|moved| now > moved) {
            self.in_flux.remove(uid(object));
        }
    }

    pub(super) fn noise(&mut self, name: &str) {
        let now = self.now;
        if let Some(object) = self.objects.get_mut(name) {
            object["status"]["noise"] = json!(now);
            entry(object, "somebody", "Update", now, false);
        }
    }

    pub(super) fn old_writes(&mut self, name: &str) {
        let now = self.now;
        if let Some(object) = self.objects.get_mut(name) {
            entry(object, OLD_CONTROLLER, "Update", now, false);
        }
    }

    fn own_label(&mut self, name: &str, manager: &str) {
        let now = self.now;
        entry(self.objects.get_mut(name).unwrap(), manager, "Apply", now, true);
    }

    /// Somebody tells an object to go next, whether there is one or not.
    pub(super) fn tell(&mut self, at: usize) {
        let title = format!("n/{}", self.name(at));
        let mut next = self.roll["spec"]["next"].as_array().cloned().unwrap_or_default();
        if !next.contains(&json!(title)) {
            next.push(json!(title));
            self.roll["spec"]["next"] = json!(next);
            self.version += 1;
        }
    }

    /// Where an object stands among those that were told to go.
    pub(super) fn told(&self, title: &str) -> usize {
        let next = self.roll["spec"]["next"].as_array();
        next.and_then(|next| next.iter().position(|told| told == title)).unwrap_or(usize::MAX)
    }

    /// A GitOps tool sets the label again, by force. Our annotation is not its own.
    pub(super) fn turn_back(&mut self, name: &str) {
        let Some(object) = self.objects.get_mut(name) else { return };
        if label(object) == Some(NEW) && !object["metadata"]["annotations"][ANNOTATION].is_null() {
            self.turned.insert(uid(object).to_owned());
        }
        object["metadata"]["labels"][LABEL] = json!(OLD);
        for other in object["metadata"]["managedFields"].as_array_mut().unwrap() {
            other["fieldsV1"] = json!({});
        }
        let uid = uid(object).to_owned();
        self.in_flux.remove(&uid);
        self.touched.insert(uid);
        self.own_label(name, GITOPS);
    }

    /// Somebody labels an object as the roll would, without saying so on it.
    pub(super) fn move_on(&mut self, name: &str) {
        let now = self.now;
        let Some(object) = self.objects.get_mut(name).filter(|object| label(object) != Some(NEW)) else { return };
        object["metadata"]["labels"][LABEL] = json!(NEW);
        for other in object["metadata"]["managedFields"].as_array_mut().unwrap() {
            other["fieldsV1"] = json!({});
        }
        entry(object, "kubectl-label", "Update", now, true);
        let uid = uid(object).to_owned();
        self.in_flux.remove(&uid);
        // Whoever turned it back before means that no more.
        self.turned.remove(&uid);
        self.touched.insert(uid);
    }

    /// A JSON Patch, as an API server takes it.
    pub(super) fn patch(&mut self, name: &str, patch: &Value) -> Result<(), NotWritten> {
        let Some(object) = self.objects.get(name) else { return Err(NotWritten::Stale) };
        let mut next = object.clone();
        for operation in patch.as_array().unwrap() {
            apply(&mut next, operation).ok_or(NotWritten::Stale)?;
        }
        if self.down {
            return Err(NotWritten::Down);
        }
        if self.refused.contains(name) {
            return Err(NotWritten::Refused("spec.power: too weak".to_owned()));
        }
        let flips = object["metadata"]["labels"][LABEL] != next["metadata"]["labels"][LABEL];
        // Empty maps are not stored.
        for what in ["labels", "annotations"] {
            if next["metadata"][what].as_object().is_some_and(Map::is_empty) {
                next["metadata"].as_object_mut().unwrap().remove(what);
            }
        }
        for other in next["metadata"]["managedFields"].as_array_mut().unwrap() {
            other["fieldsV1"] = json!({});
        }
        entry(&mut next, ROLL_MANAGER, "Update", self.now, true);
        if flips {
            self.in_flux.insert(uid(&next).to_owned());
        }
        self.objects.insert(name.to_owned(), next);
        Ok(())
    }
}

pub(super) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap()
}

pub(super) fn label(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][LABEL].as_str()
}

/// By the API server's clock.
fn moved_at(object: &Value) -> Option<u64> {
    let entries = object["metadata"]["managedFields"].as_array()?;
    entries.iter().find(|entry| entry["manager"] == ROLL_MANAGER)?["seconds"].as_u64()
}

fn entry(object: &mut Value, manager: &str, operation: &str, now: u64, label: bool) {
    let fields = if label { json!({"f:metadata": {"f:labels": {format!("f:{LABEL}"): {}}}}) } else { json!({}) };
    let entries = object["metadata"]["managedFields"].as_array_mut().unwrap();
    entries.retain(|entry| entry["manager"] != manager);
    entries.push(json!({
        "manager": manager, "operation": operation, "time": rfc3339(now), "seconds": now, "fieldsV1": fields,
    }));
}

/// One operation, as the API server's library does it: what is not there passes a test for null.
pub(super) fn apply(object: &mut Value, operation: &Value) -> Option<()> {
    let path = operation["path"].as_str().unwrap();
    let value = &operation["value"];
    let (parent, key) = path.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    let holder = object.pointer_mut(parent)?;
    match operation["op"].as_str().unwrap() {
        "test" => (holder.get(&key).unwrap_or(&Value::Null) == value).then_some(()),
        "remove" => holder.as_object_mut()?.remove(&key).map(drop),
        "replace" => holder.get_mut(&key).map(|old| *old = value.clone()),
        "add" => holder.as_object_mut().map(|members| drop(members.insert(key, value.clone()))),
        other => panic!("{other}"),
    }
}

fn roll(setup: &Setup) -> Value {
    let at_once: Value = serde_json::from_str(&setup.at_once).unwrap();
    let mut waves = Vec::new();
    if setup.canaries > 0 {
        let mut wave = json!({"name": "canary", "select": {"labels": "roll=canary"}, "atOnce": 1});
        if setup.approval {
            wave["then"] = json!("approval");
        }
        if setup.soak {
            wave["soak"] = json!(format!("{SOAK}s"));
        }
        waves.push(wave);
    }
    waves.push(json!({"name": "rest", "atOnce": at_once}));
    let mut spec = json!({
        "kind": "boat", "to": NEW, "waves": waves, "unhealthyMax": setup.unhealthy_max, "timeout": "60s",
        "onFailure": setup.on_failure,
    });
    if setup.from {
        spec["from"] = json!(OLD);
    }
    json!({
        "apiVersion": "pointsman.dev/v1", "kind": "Roll", "metadata": {"name": "r", "uid": "roll-1"}, "spec": spec,
    })
}
