//! A cluster with shoots, reduced to the parts that a hand-over reads, and the clusters behind the shoots.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use pointsman_core::definition::{Kind, MutatedKind};
use pointsman_core::webhook::{FactValue, KnownFacts, Metadata, PatchOperation, Webhook};
use pointsman_rollout::{
    FleetObject, LookupRequest, LookupResults, LookupTarget, MutationState, ObjectCall, ObjectWrite, Rollout,
    RolloutStatus, answered_rollout, initial_wait_lookups, seen_by_mutation, step_lookups,
};
use serde_json::{Value, json};

use crate::database::apply;

pub(super) const NEEDS: &str = "csi-migration.extensions.gardener.cloud/needs-complete-feature-gates";
pub(super) const FINISHED: &str = "csi-migration.extensions.gardener.cloud/controller-finished";
pub(super) const NAMES: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// The state of the garden.
pub(super) struct Garden {
    pub(super) kind: Kind,
    pub(super) mutated: Vec<MutatedKind>,
    webhook: Webhook,
    pub(super) clusters: BTreeMap<String, Value>,
    pub(super) shoots: BTreeMap<String, Shoot>,
    pub(super) deployments: BTreeMap<(String, String), Value>,
    pub(super) rollout: Value,
    pub(super) now: u64,
    /// Number of requests that a mutation server leaves unchanged before it receives a fact.
    pub(super) behind: usize,
    /// Number of servers that answer in turn; only the first one is behind.
    pub(super) servers: usize,
    asked: usize,
    version: u64,
}

/// A shoot, as a cluster of its own.
pub(super) struct Shoot {
    pub(super) has_control_plane: bool,
    pub(super) is_away: bool,
    /// Kubelet versions, by node.
    pub(super) nodes: BTreeMap<String, String>,
    /// Provisioners of storage classes.
    pub(super) classes: BTreeMap<String, String>,
}

pub(super) fn example(name: &str) -> String {
    let path = format!("{}/../../manifests/examples/gardener/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

fn of_file(name: &str) -> Value {
    serde_saphyr::from_str(&example(name)).unwrap()
}

impl Garden {
    pub(super) fn planted(max_in_flight: usize) -> Self {
        let kind = Kind::from_crd(&example("clusters"), &example("clusters.crd")).unwrap();
        let mutated = vec![MutatedKind::load("control-plane.yaml", &example("control-plane")).unwrap()];
        let webhook = Webhook::new(Vec::new(), Metadata::Full).unwrap().with_mutations(mutated.clone()).unwrap();
        let mut rollout = of_file("rollout");
        rollout["metadata"]["uid"] = json!("rollout-1");
        rollout["spec"]["waves"] = json!([{"name": "all", "maxInFlight": max_in_flight}]);
        let (clusters, shoots, deployments) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (now, behind, servers, asked, version) = (1_795_000_000, 0, 1, 0, 0);
        Self { kind, mutated, webhook, clusters, shoots, deployments, rollout, now, behind, servers, asked, version }
    }

    /// Adds an old shoot with new nodes and old storage classes.
    pub(super) fn plant(&mut self, name: &str) -> &mut Shoot {
        let shoot = json!({
            "metadata": {"name": name}, "status": {"lastOperation": {"state": "Succeeded"}},
            "spec": {"provider": {"type": "aws"}, "kubernetes": {"version": "1.18.20"}, "hibernation": {"enabled": false}},
        });
        let cluster = json!({
            "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Cluster",
            "metadata": {"name": name, "uid": format!("uid-{name}"), "generation": 1, "resourceVersion": "1"},
            "spec": {"cloudProfile": {}, "seed": {}, "shoot": shoot},
        });
        self.clusters.insert(name.to_owned(), cluster);
        for deployment in NAMES {
            let mut object = of_file(deployment);
            object["metadata"]["namespace"] = json!(name);
            object["metadata"]["generation"] = json!(1);
            self.deployments.insert((name.to_owned(), deployment.to_owned()), object);
        }
        let classes = [("default", "kubernetes.io/aws-ebs"), ("gp2", "kubernetes.io/aws-ebs")];
        let shoot = Shoot {
            has_control_plane: true,
            is_away: false,
            nodes: BTreeMap::from([("node-1".to_owned(), "v1.18.20".to_owned())]),
            classes: classes.map(|(name, by)| (name.to_owned(), by.to_owned())).into(),
        };
        self.shoots.entry(name.to_owned()).or_insert(shoot)
    }

    pub(super) fn status(&self) -> RolloutStatus {
        RolloutStatus::of(&self.rollout)
    }

    pub(super) fn compiled(&self) -> Rollout {
        answered_rollout(&self.rollout, &self.kind).unwrap()
    }

    pub(super) fn fleet(&self, rollout: &Rollout) -> Vec<FleetObject> {
        self.clusters.values().filter_map(|object| FleetObject::of(object, rollout)).collect()
    }

    /// True if an annotation of the shoot is `true`.
    pub(super) fn says(&self, name: &str, key: &str) -> bool {
        self.clusters[name]["metadata"]["annotations"][key] == "true"
    }

    /// True if a mutation has processed all Deployments of a shoot since its fact.
    pub(super) fn is_handed_over(&self, name: &str) -> bool {
        let seen = |object: &Value| {
            seen_by_mutation(&self.mutated, ("deployments", "apps"), "csi", object) == MutationState::Seen
        };
        NAMES.iter().all(|deployment| seen(&self.deployments[&(name.to_owned(), (*deployment).to_owned())]))
    }

    pub(super) fn answers(&self, rollout: &Rollout, fleet: &[FleetObject]) -> LookupResults {
        let (status, mut answers, mut known) = (self.status(), LookupResults::default(), BTreeSet::new());
        let all =
            step_lookups(rollout, &status, fleet).into_iter().chain(initial_wait_lookups(rollout, &status, fleet));
        for lookup in all.filter(|lookup| known.insert(lookup.id())) {
            self.answer(&lookup, &mut answers);
        }
        answers
    }

    fn answer(&self, lookup: &LookupRequest, answers: &mut LookupResults) {
        if let Some(of) = &lookup.cluster {
            assert_eq!((of.secret.as_str(), of.key.as_str()), ("gardener", "kubeconfig"));
            let shoot = &self.shoots[&of.namespace];
            if shoot.is_away {
                return answers.cannot_read(lookup, "no answer within 10 s".to_owned());
            }
            return answers.saw(lookup, &in_shoot(shoot, lookup));
        }
        let namespace = lookup.namespace.clone().expect("a namespace");
        match (&lookup.wanted, lookup.plural.as_str()) {
            (LookupTarget::Labelled(_), "controlplanes") => {
                let found = json!({"metadata": {"name": "it"}});
                answers.saw(
                    lookup,
                    if self.shoots[&namespace].has_control_plane { std::slice::from_ref(&found) } else { &[] },
                );
            }
            (LookupTarget::Mutated { name, mutation }, "deployments") => {
                let object = self.deployments.get(&(namespace, name.clone()));
                let seen = |object| seen_by_mutation(&self.mutated, ("deployments", "apps"), mutation, object);
                answers.mutated(lookup, object.map_or(MutationState::Absent, seen));
            }
            other => panic!("nothing here is asked for {other:?}"),
        }
    }

    /// Applies the patch of a move. Returns whether the tested values still hold.
    pub(super) fn patch(&mut self, name: &str, patch: &Value) -> bool {
        let mut next = self.clusters[name].clone();
        let fits = patch.as_array().unwrap().iter().all(|operation| apply(&mut next, operation).is_some());
        if fits {
            self.version += 1;
            next["metadata"]["resourceVersion"] = json!(self.version.to_string());
            self.clusters.insert(name.to_owned(), next);
        }
        fits
    }

    /// Applies a step's call to another object, if its preconditions hold.
    pub(super) fn write(&mut self, write: &ObjectWrite) -> Result<(), String> {
        match &write.call {
            ObjectCall::Delete { uid, .. } => {
                let of = write.cluster.as_ref().expect("in the shoot");
                let shoot = self.shoots.get_mut(&of.namespace).unwrap();
                assert!(!shoot.is_away, "the step writes only to responding controllers");
                assert_eq!(shoot.classes.get(&write.name).map(String::as_str), Some("kubernetes.io/aws-ebs"));
                assert_eq!(*uid, format!("uid-{}", write.name));
                shoot.classes.remove(&write.name);
                Ok(())
            }
            ObjectCall::Readmit(_) => self.readmit(write.namespace.as_deref().unwrap(), &write.name),
            other => panic!("no step does that: {other:?}"),
        }
    }

    /// A mutation server processes a Deployment again.
    fn readmit(&mut self, namespace: &str, name: &str) -> Result<(), String> {
        let is_first = self.asked.is_multiple_of(self.servers);
        let (is_behind, key) = (self.behind > 0 && is_first, (namespace.to_owned(), name.to_owned()));
        (self.behind, self.asked) = (self.behind.saturating_sub(usize::from(is_first)), self.asked + 1);
        let is_true = if self.says(namespace, NEEDS) && !is_behind { FactValue::True } else { FactValue::False };
        let mut facts = KnownFacts::default();
        facts.set("csi", is_true);
        let object = self.deployments[&key].clone();
        let answered = self.webhook.mutation(&object.to_string(), Some(&object.to_string()), &facts);
        let (patch, _) = answered.unwrap().expect("a mutation").unwrap();
        let mut next = object.clone();
        patch.iter().for_each(|operation| mutated(&mut next, operation));
        if next != object {
            next["metadata"]["generation"] = json!(object["metadata"]["generation"].as_u64().unwrap() + 1);
        }
        let seen = seen_by_mutation(&self.mutated, ("deployments", "apps"), "csi", &next);
        self.deployments.insert(key, next);
        match seen {
            MutationState::Seen => Ok(()),
            MutationState::Unseen(path) => Err(format!("not mutated: {path}")),
            other => panic!("{other:?}"),
        }
    }
}

fn in_shoot(shoot: &Shoot, lookup: &LookupRequest) -> Vec<Value> {
    match (lookup.plural.as_str(), &lookup.wanted) {
        ("nodes", LookupTarget::Labelled(_)) => {
            let node = |(name, version): (&String, &String)| json!({"metadata": {"name": name}, "status": {"nodeInfo": {"kubeletVersion": version}}});
            shoot.nodes.iter().map(node).collect()
        }
        ("storageclasses", LookupTarget::Named(name)) => {
            let class = |provisioner: &String| {
                json!({
                    "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"},
                    "provisioner": provisioner,
                })
            };
            shoot.classes.get(name).map(class).into_iter().collect()
        }
        other => panic!("nothing in a shoot is asked for {other:?}"),
    }
}

/// Applies one operation of a webhook, also inside lists.
fn mutated(object: &mut Value, operation: &PatchOperation) {
    let (parent, key) = operation.path.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    let value = || serde_json::from_str::<Value>(&operation.value).unwrap();
    match (operation.op, object.pointer_mut(parent).unwrap()) {
        ("add", Value::Array(items)) if key == "-" => items.push(value()),
        ("add", Value::Array(items)) => items.insert(key.parse().unwrap(), value()),
        ("remove", Value::Array(items)) => drop(items.remove(key.parse().unwrap())),
        (_, Value::Array(items)) => items[key.parse::<usize>().unwrap()] = value(),
        ("remove", Value::Object(members)) => drop(members.remove(&key)),
        (_, Value::Object(members)) => drop(members.insert(key, value())),
        other => panic!("{other:?}"),
    }
}
