//! A namespace with the objects and Kubernetes controllers that these workflows use.

use std::collections::BTreeMap;

use pointsman_rollout::{ROLLOUT_MANAGER, rfc3339, wall};
use serde_json::{Value, json};

use crate::database::apply;

/// All objects, by plural and name.
pub(super) struct FakeNamespace {
    pub(super) things: BTreeMap<(String, String), Value>,
    pub(super) now: u64,
    /// The garbage collector receives ownership changes late.
    pub(super) lags: bool,
    /// The content that each object was created with, by uid.
    firsts: BTreeMap<String, Value>,
    version: u64,
    made: u64,
}

/// Why the API server rejects a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum No {
    Stale,
    Refused,
    NotYet,
}

impl FakeNamespace {
    /// Creates this many oldapps, each with a Service and a Deployment whose Pods are ready.
    pub(super) fn settled(oldapps: usize) -> Self {
        let now = 1_795_000_000 - 3_600;
        let mut fake_namespace =
            Self { things: BTreeMap::new(), now, lags: false, firsts: BTreeMap::new(), version: 1, made: 0 };
        for at in 0..oldapps {
            let name = name(at);
            let oldapp = json!({
                "apiVersion": "was.example.com/v1", "kind": "OldApp", "metadata": {"name": name, "namespace": "n"},
                "spec": {"roof": "straw"}, "status": {"state": "stable"},
            });
            fake_namespace.create("oldapps", oldapp).unwrap();
            let deployment = old_deployment(&name, fake_namespace.get("oldapps", &name).unwrap());
            fake_namespace.create("deployments", deployment).unwrap();
            let owners = owner("OldApp", &name, fake_namespace.get("oldapps", &name).unwrap());
            let service = json!({"metadata": {"name": name, "namespace": "n", "ownerReferences": owners}});
            fake_namespace.create("services", service).unwrap();
        }
        fake_namespace.controllers();
        let sets: Vec<String> = fake_namespace.names("replicasets");
        sets.iter().for_each(|set| fake_namespace.ready(set));
        fake_namespace.controllers();
        fake_namespace.now += 3_600;
        fake_namespace
    }

    /// The spec that an object was created with.
    pub(super) fn first(&self, uid: &str) -> &Value {
        &self.firsts[uid]
    }

    /// The write counter.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn get(&self, plural: &str, name: &str) -> Option<&Value> {
        self.things.get(&(plural.to_owned(), name.to_owned()))
    }

    pub(super) fn names(&self, plural: &str) -> Vec<String> {
        self.things.keys().filter(|(of, _)| of == plural).map(|(_, name)| name.clone()).collect()
    }

    pub(super) fn all(&self, plural: &str) -> impl Iterator<Item = &Value> {
        self.things.iter().filter(move |((of, _), _)| of == plural).map(|(_, value)| value)
    }

    /// All dependents of a uid, each with its plural.
    pub(super) fn belonging(&self, uid: &str) -> Vec<(String, Value)> {
        let is_its = |value: &Value| owners(value).iter().any(|owner| owner["uid"] == uid);
        let all = self.things.iter().filter(|(_, value)| is_its(value));
        all.map(|((plural, _), value)| (plural.clone(), value.clone())).collect()
    }

    pub(super) fn create(&mut self, plural: &str, mut object: Value) -> Result<(), No> {
        let key = (plural.to_owned(), object["metadata"]["name"].as_str().unwrap().to_owned());
        if self.things.contains_key(&key) {
            return Err(No::Stale);
        }
        self.made += 1;
        let uid = format!("{plural}-{}", self.made);
        object["metadata"]["uid"] = json!(uid);
        self.firsts.insert(uid, object["spec"].clone());
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["creationTimestamp"] = json!(rfc3339(self.now));
        self.put(key, object);
        Ok(())
    }

    pub(super) fn patch(&mut self, plural: &str, name: &str, patch: &Value) -> Result<(), No> {
        let mut next = self.get(plural, name).ok_or(No::Stale)?.clone();
        for operation in patch.as_array().unwrap() {
            let path = operation["path"].as_str().unwrap();
            if let Some((at, rest)) =
                path.strip_prefix("/metadata/ownerReferences/").map(|rest| rest.split_once('/').unwrap_or((rest, "")))
            {
                let at: usize = at.parse().unwrap();
                let owners = next["metadata"]["ownerReferences"].as_array_mut().ok_or(No::Stale)?;
                match operation["op"].as_str().unwrap() {
                    "test" if owners.get(at).is_none_or(|owner| owner[rest] != operation["value"]) => {
                        return Err(No::Stale);
                    }
                    "test" => {}
                    "remove" => drop(owners.remove(at)),
                    _ => owners[at] = operation["value"].clone(),
                }
                continue;
            }
            apply(&mut next, operation).ok_or(No::Stale)?;
            let place = path.strip_prefix("/metadata/").and_then(|rest| rest.split_once('/'));
            if let Some(place) = place.filter(|_| operation["op"] != "test") {
                taken(&mut next["metadata"], place, (ROLLOUT_MANAGER, self.now));
            }
        }
        for what in ["labels", "annotations", "ownerReferences"] {
            let is_empty = match &next["metadata"][what] {
                Value::Object(members) => members.is_empty(),
                Value::Array(items) => items.is_empty(),
                _ => false,
            };
            if is_empty {
                next["metadata"].as_object_mut().unwrap().remove(what);
            }
        }
        self.put((plural.to_owned(), name.to_owned()), next);
        Ok(())
    }

    /// Deletes an object. With `Orphan` the object remains until the garbage collector has run.
    pub(super) fn delete(
        &mut self,
        plural: &str,
        name: &str,
        uid: &str,
        version: &str,
        orphan: bool,
    ) -> Result<(), No> {
        let object = self.get(plural, name).ok_or(No::Stale)?;
        if object["metadata"]["uid"] != uid || object["metadata"]["resourceVersion"] != version {
            return Err(No::Stale);
        }
        let mut object = object.clone();
        if orphan {
            object["metadata"]["deletionTimestamp"] = json!("now");
            self.put((plural.to_owned(), name.to_owned()), object);
        } else {
            self.things.remove(&(plural.to_owned(), name.to_owned()));
        }
        Ok(())
    }

    /// Deletes an oldapp, orphans its dependents, and creates another oldapp of the same name.
    pub(super) fn replaces_oldapp(&mut self, name: &str) {
        let Some(oldapp) = self.things.remove(&("oldapps".to_owned(), name.to_owned())) else { return };
        let uid = &oldapp["metadata"]["uid"];
        for (plural, object) in self.belonging(uid.as_str().unwrap()) {
            self.change(&plural, &named(&object), |object| {
                object["metadata"]["ownerReferences"].as_array_mut().unwrap().retain(|owner| owner["uid"] != *uid);
            });
        }
        let other = json!({
            "apiVersion": "was.example.com/v1", "kind": "OldApp", "metadata": {"name": name, "namespace": "n"},
            "spec": {"roof": "of another one"}, "status": {"state": "stable"},
        });
        self.create("oldapps", other).unwrap();
    }

    /// Toggles an autoscaler that scales a Deployment.
    pub(super) fn scales(&mut self, name: &str) {
        let key = ("horizontalpodautoscalers".to_owned(), name.to_owned());
        if self.things.remove(&key).is_none() {
            let of = json!({"kind": "Deployment", "name": name});
            let scaler = json!({"metadata": {"name": name, "namespace": "n"}, "spec": {"scaleTargetRef": of}});
            self.create("horizontalpodautoscalers", scaler).unwrap();
        }
    }

    /// A client changes an object.
    pub(super) fn change(&mut self, plural: &str, name: &str, change: impl FnOnce(&mut Value)) {
        if let Some(object) = self.get(plural, name) {
            let mut changed = object.clone();
            change(&mut changed);
            // A no-op write keeps the resourceVersion.
            if changed != *object {
                self.put((plural.to_owned(), name.to_owned()), changed);
            }
        }
    }

    fn put(&mut self, key: (String, String), mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.things.insert(key, object);
    }

    /// The Pods of a ReplicaSet become ready.
    pub(super) fn ready(&mut self, set: &str) {
        self.change("replicasets", set, |set| set["status"] = json!({"ready": PODS}));
    }

    /// Number of ready Pods of an installation.
    pub(super) fn serving(&self, name: &str) -> u64 {
        let of = self.all("replicasets").filter(|set| set["spec"]["of"] == name);
        of.map(|set| set["status"]["ready"].as_u64().unwrap_or_default()).sum()
    }

    /// Removes terminating objects and orphans their dependents. Deployments adopt a matching ReplicaSet or create one.
    pub(super) fn controllers(&mut self) {
        let going: Vec<((String, String), String)> = self
            .things
            .iter()
            .filter(|(_, value)| !value["metadata"]["deletionTimestamp"].is_null())
            .filter(|(_, value)| value["metadata"]["finalizers"].is_null())
            .map(|(key, value)| (key.clone(), value["metadata"]["uid"].as_str().unwrap().to_owned()))
            .collect();
        for (key, uid) in going {
            for (plural, object) in self.belonging(&uid) {
                if !self.has_heard(&object) {
                    continue;
                }
                let name = object["metadata"]["name"].as_str().unwrap();
                self.change(&plural, name, |object| {
                    let owners = object["metadata"]["ownerReferences"].as_array_mut().unwrap();
                    owners.retain(|owner| owner["uid"] != uid.as_str());
                });
            }
            self.things.remove(&key);
        }
        self.collects();
        for name in self.names("deployments") {
            self.deploys(&name);
        }
    }

    /// True if the garbage collector has received the owner of an object.
    fn has_heard(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let taken = metadata["managedFields"].as_array().into_iter().flatten().map(|entry| &entry["time"]);
        let since = taken.chain([&metadata["creationTimestamp"]]).filter_map(|time| wall(time.as_str()?)).max();
        !self.lags || since.is_none_or(|since| self.now - since >= HEARD)
    }

    /// Deletes ReplicaSets without an existing owner, with their Pods.
    fn collects(&mut self) {
        let uids: Vec<Value> = self.things.values().map(|object| object["metadata"]["uid"].clone()).collect();
        for name in self.names("replicasets") {
            let is_lost = self.get("replicasets", &name).is_some_and(|set| {
                let owners = owners(set);
                !owners.is_empty() && owners.iter().all(|owner| !uids.contains(&owner["uid"])) && self.has_heard(set)
            });
            if is_lost {
                self.things.remove(&("replicasets".to_owned(), name));
            }
        }
    }

    fn deploys(&mut self, name: &str) {
        let deployment = self.get("deployments", name).unwrap().clone();
        let selector = &deployment["spec"]["selector"]["matchLabels"];
        let fits = |set: &&Value| set["metadata"]["labels"] == *selector;
        let uid = deployment["metadata"]["uid"].as_str().unwrap();
        let set = self.all("replicasets").find(fits).map(|set| set["metadata"]["name"].as_str().unwrap().to_owned());
        let (owners, now) = (owner("Deployment", name, &deployment), self.now);
        match set {
            Some(set) => self.change("replicasets", &set, |set| {
                let all = set["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                if all.is_empty() {
                    let fields = json!({"f:metadata": {"f:ownerReferences": {format!("k:{{\"uid\":\"{uid}\"}}"): {}}}});
                    set["metadata"]["ownerReferences"] = owners;
                    set["metadata"]["managedFields"] = json!([{"time": rfc3339(now), "fieldsV1": fields}]);
                }
            }),
            None => {
                let name = format!("{name}-{uid}");
                let set = json!({
                    "metadata": {"name": name, "labels": selector, "ownerReferences": owners},
                    "spec": {"of": deployment["metadata"]["name"]},
                });
                self.create("replicasets", set).unwrap();
            }
        }
        let ready = self.all("replicasets").find(fits).map(|set| set["status"]["ready"].as_u64().unwrap_or_default());
        let generation = deployment["metadata"]["generation"].clone();
        let status = json!({
            "observedGeneration": generation, "replicas": PODS, "updatedReplicas": PODS,
            "availableReplicas": ready.unwrap_or_default(),
        });
        if deployment["status"] != status {
            self.change("deployments", name, |deployment| deployment["status"] = status);
        }
    }
}

/// A client writes a label or annotation; `managedFields` records the write as an API server does.
pub(super) fn taken(metadata: &mut Value, (place, name): (&str, &str), (manager, now): (&str, u64)) {
    let entry = json!({"manager": manager, "time": rfc3339(now), "fieldsV1": {"f:metadata": {format!("f:{place}"): {format!("f:{name}"): {}}}}});
    let entries = metadata["managedFields"].as_array().cloned().unwrap_or_default().into_iter();
    let others = entries.filter(|one| one["fieldsV1"] != entry["fieldsV1"]);
    metadata["managedFields"] = others.chain([entry.clone()]).collect();
}

fn named(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// Seconds until the garbage collector has received every change.
const HEARD: u64 = 10;

/// A Deployment as the old operator creates it.
pub(super) fn old_deployment(name: &str, oldapp: &Value) -> Value {
    let labels = json!({"oldapp": name});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": name, "namespace": "n", "labels": labels, "ownerReferences": owner("OldApp", name, oldapp),
        },
        "spec": {
            "replicas": PODS, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
        },
    })
}

fn owner(kind: &str, name: &str, object: &Value) -> Value {
    json!([{
        "apiVersion": object["apiVersion"], "kind": kind, "name": name, "uid": object["metadata"]["uid"],
        "controller": true,
    }])
}

pub(super) fn owners(object: &Value) -> Vec<Value> {
    object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default()
}

pub(super) fn name(at: usize) -> String {
    format!("h-{at}")
}

/// Number of Pods of an installation.
pub(super) const PODS: u64 = 2;
