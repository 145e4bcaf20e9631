//! The events of a history: the number of objects, and the actions of each component.

use std::sync::LazyLock;

use pointsman_core::definition::Kind;
use pointsman_core::laws::Random;
use serde_json::{Value, json};

/// An event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Happening {
    /// A runner makes its next call.
    Call(usize),
    /// The runner is killed and restarted.
    Dies(usize),
    /// The response to the runner's next write is lost.
    Deaf(usize),
    Passes(u64),
    /// Kubernetes controllers run: Deployments and deletions.
    Controllers,
    /// The Pods of one ReplicaSet become ready.
    Ready(usize),
    /// The new operator runs.
    Operator,
    /// A client changes a Deployment.
    Edit(usize),
    /// The old operator ignores the pause and recreates a missing Deployment.
    Rebuilds(usize),
    /// A client changes an oldapp.
    Alters(usize),
    /// A client deletes an oldapp and orphans its dependents.
    Abandons(usize),
    /// Toggles an undeclared dependent of an object.
    Claims(usize),
    /// A webhook starts or stops rejecting creates.
    Refuses(bool),
    /// A required condition of the rollout starts or stops failing.
    Shuts(bool),
    Resume,
    /// An operator pauses or unpauses the rollout.
    Pauses(bool),
    /// The definition's workflow is reworded, or restored.
    Redefines(bool),
    /// The garbage collector starts or stops to lag behind ownership changes.
    Lags(bool),
    /// A client outside the rollout acts.
    Stranger(Stranger, usize),
    /// No interference until the rollout is over. Then the whole rollout changes direction.
    Ends,
    Forward,
    Back,
    Stop,
}

/// Another client's action on one installation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stranger {
    /// Sets a label and an annotation of the oldapp.
    NamesOldApp,
    /// Sets a label and an annotation of the newapp.
    NamesNewApp,
    /// Changes the spec of the newapp.
    Paints,
    /// Removes one pointsman annotation from the newapp.
    Strips(usize),
    /// Deletes the newapp and orphans its dependents.
    Razes,
    /// Deletes the oldapp and creates another one of the same name. Never next to a newapp: two controllers would act
    /// then, regardless of the rollout.
    Replaces,
    /// Restores an oldapp from a backup made during the rollout.
    Restores(usize),
    /// Copies the newapp under another name.
    Copies,
    /// Adds an autoscaler for the Deployment, or removes the autoscaler.
    Scales,
}

/// A history.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) oldapps: usize,
    pub(super) max_in_flight: usize,
    pub(super) accepted: bool,
    pub(super) on_failure: &'static str,
    pub(super) runners: usize,
    pub(super) script: Vec<Happening>,
}

impl Scenario {
    pub(super) fn draw(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let mut plot = Self {
            oldapps: 1 + random.below(3),
            max_in_flight: 1 + random.below(2),
            accepted: random.percent(80),
            on_failure: random.word(&["Pause", "Pause", "Undo", "UndoAll"]),
            runners: 1 + random.below(2),
            script: Vec::new(),
        };
        let (trouble, turns, strangers) = (random.percent(70), random.percent(50), random.percent(50));
        for _ in 0..100 + random.below(400) {
            let happening = match strangers && random.percent(3) {
                true => plot.stranger(random),
                false => plot.happening(random, trouble, turns),
            };
            plot.script.push(happening);
        }
        if random.percent(40) {
            for _ in 0..1 + random.below(3) {
                plot.script.insert(random.below(plot.script.len()), Happening::Ends);
            }
        }
        plot
    }

    fn stranger(&self, random: &mut Random) -> Happening {
        let stranger = match random.below(12) {
            0..2 => Stranger::NamesOldApp,
            2..4 => Stranger::NamesNewApp,
            4 => Stranger::Paints,
            5 => Stranger::Strips(random.below(5)),
            6 => Stranger::Razes,
            7 => Stranger::Replaces,
            8 => Stranger::Restores(random.below(8)),
            9 => Stranger::Copies,
            10 => Stranger::Scales,
            _ => return Happening::Redefines(random.percent(50)),
        };
        Happening::Stranger(stranger, random.below(self.oldapps))
    }

    fn happening(&self, random: &mut Random, trouble: bool, turns: bool) -> Happening {
        let (runner, oldapp) = (random.below(self.runners), random.below(self.oldapps));
        match random.below(100) {
            0..60 => Happening::Call(runner),
            60..70 => Happening::Controllers,
            70..78 => Happening::Ready(random.below(8)),
            78..82 => Happening::Operator,
            82..85 => {
                let most = if random.percent(10) { 100 } else { 6 };
                Happening::Passes(1 + random.below(most) as u64)
            }
            _ if !trouble => Happening::Call(runner),
            85..89 => Happening::Dies(runner),
            89..91 => Happening::Deaf(runner),
            91 => Happening::Edit(oldapp),
            92 if random.percent(30) => Happening::Rebuilds(oldapp),
            93 if random.percent(40) => Happening::Alters(oldapp),
            93 if random.percent(20) => Happening::Abandons(oldapp),
            93 => Happening::Claims(oldapp),
            94 => Happening::Refuses(random.percent(20)),
            95 if random.percent(20) => Happening::Shuts(random.percent(50)),
            95 if random.percent(30) => Happening::Lags(random.percent(60)),
            95 if random.percent(20) => Happening::Pauses(random.percent(40)),
            95 => Happening::Resume,
            96..99 if turns => {
                *random.pick(&[Happening::Back, Happening::Back, Happening::Forward, Happening::Stop]).unwrap()
            }
            _ => Happening::Call(runner),
        }
    }

    /// The smallest variant of the history that still fails.
    pub(super) fn shrunk(mut self, breaks: impl Fn(&Self) -> bool) -> Self {
        let mut size = self.script.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.script.len() {
                let mut less = self.clone();
                less.script.drain(at..(at + size).min(self.script.len()));
                if breaks(&less) { self = less } else { at += size }
            }
            size /= 2;
        }
        self
    }

    /// The StagedRollout.
    pub(super) fn rollout(&self) -> Value {
        let accept = if self.accepted { json!(["old-oldapp"]) } else { json!([]) };
        let spec = json!({
            "kind": "newapp", "workflow": "moves", "to": "v2", "timeout": "90s", "acceptedRisks": accept,
            "waves": [{"name": "all", "maxInFlight": self.max_in_flight}], "onFailure": self.on_failure,
        });
        json!({
            "apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": "r", "uid": "rollout-1"}, "spec": spec,
        })
    }
}

/// Replaces oldapps by newapps.
pub(super) static HOUSE: LazyLock<Kind> = LazyLock::new(|| newapp(DEFINITION));

/// Replaces oldapps by newapps without recording the Pod selectors of the oldapps.
pub(super) static FOR_GOOD: LazyLock<Kind> =
    LazyLock::new(|| newapp(&DEFINITION.replace(r#", was: {oldapp: "{name}"}"#, "")));

/// The same workflow, reworded.
pub(super) static REWORDED: LazyLock<Kind> = LazyLock::new(|| {
    newapp(&DEFINITION.replace(
        "on: target, until: {field: status.state, is: stable}",
        "on: target, until: {field: status.state, in: [stable]}",
    ))
});

fn newapp(definition: &str) -> Kind {
    let read = |file: &str| {
        Ok(if file == "oldapps.crd.yaml" { crd("was.example.com", "OldApp") } else { crd("example.com", "NewApp") })
    };
    Kind::load("newapp.yaml", definition, &mut |file| read(file)).unwrap_or_else(|error| panic!("{error}"))
}

fn crd(group: &str, kind: &str) -> String {
    let plural = format!("{}s", kind.to_lowercase());
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"move": {"type": "boolean"}, "roof": text}},
        "status": {"type": "object", "properties": {"state": text}},
    }});
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "names": {"kind": kind, "plural": plural}, "scope": "Namespaced", "versions": [version]},
    })
    .to_string()
}

const DEFINITION: &str = r#"
apiVersion: pointsman.dev/v1
kind: KindDefinition
crd: newapps.crd.yaml
health: {all: [{field: status.state, is: stable}]}
replaces:
  from: {crd: oldapps.crd.yaml, version: v1, health: {all: [{field: status.state, is: stable}]}}
  to: v1
  operations: []
workflows:
  moves:
  - name: trigger
    set: {fields: {spec.move: true}}
  - name: deployment
    recreate: {resource: deployments.apps, name: "{name}", selector: {newapp: "{name}"}, was: {oldapp: "{name}"}}
  - name: rolled-out
    wait: {on: "deployments.apps/{name}", rolledOut: true}
  - name: convert
    convert: {}
  - name: stable
    wait: {on: target, until: {field: status.state, is: stable}}
  - name: adopt
    adopt: {resources: [deployments.apps, services]}
  - name: old-pods
    delete: {resource: replicasets.apps, labels: "oldapp={name}", madeAgain: true}
  - name: old-oldapp
    delete: {on: source}
    irreversible: the oldapp is gone
"#;
