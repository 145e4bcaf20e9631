//! Stages as policies, which the API server evaluates by itself: what they make of an object is what a server of ours
//! makes of it.
//!
//! Stages and objects are made by chance. `POINTSMAN_SEED` is where chance begins, the same place each time unless it
//! is set; `POINTSMAN_CASES` is how many definitions are tried.

use std::fs;
use std::time::Duration;

use hyper::Method;
use pointsman_core::definition::StagedKind;
use pointsman_core::laws::Random;
use pointsman_core::registration::{StagePolicies, stage_policies};
use pointsman_core::webhook::{KnownFacts, Metadata, Truth, Webhook};
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::stages::{self, FINISHED, NAMES, NEEDS_COMPLETE, annotate, define, generation, nudge, path};
use crate::support::process::eventually;
use crate::support::sample::{Sample, WIDGET};
use crate::support::scene::{CRDS, JSON, MERGE, Scene};

#[path = "../../crates/core/tests/it/stages/chance.rs"]
mod chance;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("three_deployments_follow_a_fact_while_no_server_is_up", followed_alone).of(&WIDGETS).newest(),
    Scenario::new("a_policy_makes_of_an_object_what_a_server_makes_of_it", alike).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// The story of `stages.rs`, byte by byte, with policies in the place of servers.
fn followed_alone(scene: &Scene<'_>) {
    define(scene);
    scene.stop_pointsman();
    let policies = printed(scene);
    assert_eq!(policies["items"].as_array().map(Vec::len), Some(2), "{policies}");
    // What becomes of each where no policy is: the same object, as the server of ours says it has to be.
    let wanted = |fact: &str| NAMES.map(|name| stored(scene, &offline(scene, &stages::deployment(scene, name), fact)));
    let [before, after] = ["false", "true"].map(wanted);
    scene.kubectl(&["apply"], &policies);
    for (name, before) in NAMES.iter().zip(&before) {
        scene.eventually(|| {
            (spec_of(&stored(scene, &stages::deployment(scene, name))) == spec_of(before)).then_some(())
        });
        scene.post(&path(scene, ""), &stages::deployment(scene, name)).ok();
    }

    annotate(scene, NEEDS_COMPLETE);
    for (name, after) in NAMES.iter().zip(&after) {
        let before = scene.call_get(&path(scene, name));
        let nudged = scene.eventually(|| {
            let nudged = nudge(scene, name).ok();
            (generation(&nudged) > generation(&before)).then_some(nudged)
        });
        assert_eq!(spec_of(&nudged), spec_of(after), "{name}");
        let again = nudge(scene, name).ok();
        assert_eq!(again["metadata"]["resourceVersion"], nudged["metadata"]["resourceVersion"], "{name} is quiet");
    }
    annotate(scene, FINISHED);
    scene.call(Method::DELETE, &path(scene, "kube-scheduler"), None).ok();
    // A command line longer than any: an expression may take so much time and no more.
    let mut long = stages::deployment(scene, "kube-scheduler");
    let words = long["spec"]["template"]["spec"]["containers"][0]["command"].as_array_mut().unwrap();
    words.extend((0..LONG).map(|at| json!(format!("--some-flag-of-a-long-name-{at:04}={}", "x".repeat(40)))));
    let made = scene.eventually(|| {
        let made = scene.post(&path(scene, ""), &long);
        (made.code != 409).then(|| made.ok())
    });
    let words_of = |object: &Value| object["spec"]["template"]["spec"]["containers"][0]["command"].clone();
    assert_eq!(words_of(&made), words_of(&offline(scene, &long, "true")));
    scene.kubectl(&["delete"], &policies);
}

/// Flags: several times as many as an API server has.
const LONG: usize = 500;

/// What `pointsman webhooks stages --policy` prints for the definitions of a scene.
fn printed(scene: &Scene<'_>) -> Value {
    let kinds = format!("--kinds={}", scene.setup.kinds.display());
    let args = ["webhooks", "stages", "--kind=deployments", "--policy", &kinds, "--output=json"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a stage makes of it offline, on this side of the fact.
fn offline(scene: &Scene<'_>, document: &Value, fact: &str) -> Value {
    let file = scene.dir.join("deployment.json");
    fs::write(&file, document.to_string()).unwrap();
    let (fact, file) = (format!("--fact=csi={fact}"), file.display().to_string());
    let kinds = format!("--kinds={}", scene.setup.kinds.display());
    let args = ["mutate", "-f", &file, &fact, &kinds, "--whole", "-o", "json"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What the API server would store of an object that somebody creates.
fn stored(scene: &Scene<'_>, document: &Value) -> Value {
    scene.post(&format!("{}?dryRun=All", path(scene, "")), document).ok()
}

/// The text of it: the API server writes the members of an object in one order.
fn spec_of(object: &Value) -> String {
    object["spec"].to_string()
}

fn alike(scene: &Scene<'_>) {
    let number = |name: &str| -> Option<usize> { std::env::var(name).ok()?.parse().ok() };
    let (seed, wanted) = (number("POINTSMAN_SEED").unwrap_or(0), number("POINTSMAN_CASES").unwrap_or(20));
    let mut random = Random::new(seed as u64);
    scene.stop_pointsman();
    anything_is_taken(scene);
    let facts =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "facts"}, "data": {"moved": "no"}});
    scene.post(&format!("/api/v1/namespaces/{}/configmaps", scene.ns), &facts).ok();
    let cases: Vec<Case> =
        (0..).filter_map(|number| Case::by_chance(scene, number, &mut random)).take(wanted).collect();
    let policies: Vec<&Value> = cases.iter().flat_map(|case| &case.policies).collect();
    for policy in &policies {
        scene.post(&all_like(policy), policy).ok();
    }
    let mut changed = 0;
    for is in [Truth::False, Truth::True] {
        let patch = |fields: Value| Some((MERGE, fields.to_string()));
        let word = if is == Truth::True { "yes" } else { "no" };
        let namespace = format!("/api/v1/namespaces/{}", scene.ns);
        scene.call(Method::PATCH, &namespace, patch(json!({"metadata": {"labels": {"moved": word}}}))).ok();
        let facts = format!("{namespace}/configmaps/facts");
        scene.call(Method::PATCH, &facts, patch(json!({"data": {"moved": word}}))).ok();
        for case in &cases {
            changed += case.is_alike(scene, is, seed);
        }
    }
    assert!(cases.iter().any(|case| case.lets_go(scene)), "some object was changed");
    println!("     policies of stages: POINTSMAN_SEED={seed}, {wanted} definitions, {changed} objects changed alike");
    assert!(changed > wanted / 2, "{changed} of {}", wanted * 2 * OBJECTS);
    for policy in policies {
        let one = format!("{}/{}", all_like(policy), policy["metadata"]["name"].as_str().unwrap());
        scene.call(Method::DELETE, &one, None).ok();
    }
    scene.call(Method::DELETE, &format!("{CRDS}/boxes.{}", scene.group), None).ok();
}

/// Objects for each definition.
const OBJECTS: usize = 4;

/// Where the API server has policies, or bindings.
fn all_like(policy: &Value) -> String {
    let kind = policy["kind"].as_str().unwrap().to_lowercase();
    let plural = kind.strip_suffix('y').map_or_else(|| format!("{kind}s"), |kind| format!("{kind}ies"));
    format!("/apis/admissionregistration.k8s.io/v1/{plural}")
}

/// A kind whose objects may have any form, so that they may be wrong in all ways.
fn anything_is_taken(scene: &Scene<'_>) {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("boxes.{}", scene.group)},
        "spec": {
            "group": scene.group, "scope": "Namespaced", "names": {"kind": "Box", "plural": "boxes"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": any}}],
        },
    });
    scene.post(CRDS, &crd).ok();
    scene.eventually(|| (scene.call(Method::GET, &boxes(scene), None).code == 200).then_some(()));
}

fn boxes(scene: &Scene<'_>) -> String {
    format!("/apis/{}/v1/namespaces/{}/boxes", scene.group, scene.ns)
}

/// A definition, what becomes of it in the API server, and objects for it.
struct Case {
    definition: String,
    server: Webhook,
    policies: Vec<Value>,
    objects: Vec<Value>,
}

impl Case {
    /// Nothing where the definition is refused, as operations are against each other.
    fn by_chance(scene: &Scene<'_>, number: usize, random: &mut Random) -> Option<Self> {
        let fact = match random.percent(50) {
            true => "{resource: namespaces, name: '{namespace}', label: moved, is: 'yes'}",
            false => {
                "{resource: configmaps, version: v1, kind: ConfigMap, namespace: '{namespace}', name: facts, \
                 field: data.moved, is: 'yes'}"
            }
        };
        let [before, after] = [chance::operations(random), chance::operations(random)];
        let definition = format!(
            "apiVersion: pointsman.dev/v1\nkind: KindDefinition\n\
             resource: {{group: {}, version: v1, kind: Box, plural: boxes}}\nstages:\n- name: case-{number}\n  \
             fact: {fact}\n  labels: case={number}\n  before: {before}\n  after: {after}\n",
            scene.group
        );
        let staged = StagedKind::load("boxes.yaml", &definition).ok()?;
        let StagePolicies { documents: policies, others } = stage_policies(&staged);
        if let [(_, why), ..] = others.as_slice() {
            // Two policies have no order.
            assert!(why.contains("two policies have no order"), "{why}: {definition}");
            return None;
        }
        let server = Webhook::new(Vec::new(), Metadata::Identity).unwrap().staging(vec![staged]).unwrap();
        let object = |random: &mut Random| {
            let mut object = chance::object(random);
            if !object.is_object() {
                object = json!({});
            }
            object["apiVersion"] = json!(format!("{}/v1", scene.group));
            object["kind"] = json!("Box");
            if !object["metadata"].is_object() {
                object["metadata"] = json!({"name": "main"});
            }
            object["metadata"]["namespace"] = json!(scene.ns);
            if random.percent(30) {
                run_a_shell(&mut object, random);
            }
            let labels = if random.percent(50) { json!({"role": "x"}) } else { json!({}) };
            object["metadata"]["labels"] = labels;
            object["metadata"]["labels"]["case"] = json!(number.to_string());
            object
        };
        let objects = (0..OBJECTS).map(|_| object(random)).collect();
        Some(Self { definition, server, policies, objects })
    }

    /// How many of its objects are changed, and become what a server makes of them.
    fn is_alike(&self, scene: &Scene<'_>, is: Truth, seed: usize) -> usize {
        let mut changed = 0;
        for object in &self.objects {
            // What the API server itself refuses, or makes of it, is no concern of stages.
            let Some(sent) = written(scene, &without_case(object)) else { continue };
            let stage = self.definition.split("name: case-").nth(1).and_then(|rest| rest.lines().next()).unwrap();
            let mut facts = KnownFacts::default();
            facts.say(&format!("case-{stage}"), is);
            let patch = self.server.stage(&object.to_string(), None, &facts).unwrap().expect("a stage").unwrap().0;
            let Some(wanted) = written(scene, &without_case(&patched(object, &patch))) else { continue };
            let mut found = Value::Null;
            let is_so = || {
                found = scene.post(&format!("{}?dryRun=All", boxes(scene)), object).body;
                (parts(&found) == wanted).then_some(())
            };
            let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                eventually("the policy is there", Duration::from_secs(20), is_so)
            }));
            assert!(
                said.is_ok(),
                "POINTSMAN_SEED={seed}, {is:?}: {}\n{object}\nby a server: {wanted}\nby a policy: {}\n{found}",
                self.definition,
                parts(&found)
            );
            changed += usize::from(sent != wanted);
        }
        changed
    }
}

/// Puts what shells are given among the words of a command line.
fn run_a_shell(object: &mut Value, random: &mut Random) {
    let words = object.pointer_mut("/spec/template/spec/containers/0/command").and_then(Value::as_array_mut);
    let Some(words) = words else { return };
    for _ in 0..=random.below(3) {
        let word = random.word(&["/bin/sh", "bash", "su", "-c", "-ec", "-o", "+x", "--rcfile", "SHELL=/bin/sh"]);
        words.insert(random.below(words.len() + 1), json!(word));
    }
}

impl Case {
    /// Selectors take an object by what it was as well. One that has lost its label is none of the stage's. Returns
    /// whether there was an object to see that by.
    fn lets_go(&self, scene: &Scene<'_>) -> bool {
        let takes = |object: &&Value| {
            written(scene, &without_case(object)).is_some_and(|sent| sent != written(scene, object).unwrap_or_default())
        };
        let Some(object) = self.objects.iter().find(takes) else { return false };
        let made = scene.post(&boxes(scene), object).ok();
        let name = made["metadata"]["name"].as_str().unwrap();
        let mut update = without_case(object);
        update["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
        let answer =
            scene.call(Method::PUT, &format!("{}/{name}", boxes(scene)), Some((JSON, update.to_string()))).ok();
        scene.call(Method::DELETE, &format!("{}/{name}", boxes(scene)), None).ok();
        assert_eq!(Some(parts(&answer)), written(scene, &update), "{}", self.definition);
        true
    }
}

fn patched(object: &Value, patch: &[pointsman_core::webhook::PatchOperation]) -> Value {
    let operations = patch.iter().map(|operation| match operation.op {
        "remove" => json!({"op": "remove", "path": operation.path}),
        op => {
            let value: Value = serde_json::from_str(&operation.value).unwrap();
            json!({"op": op, "path": operation.path, "value": value})
        }
    });
    let operations: json_patch::Patch = serde_json::from_value(operations.collect()).unwrap();
    let mut object = object.clone();
    json_patch::patch(&mut object, &operations).unwrap();
    object
}

/// An object of which no policy is.
fn without_case(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["labels"]["case"] = json!("none");
    object
}

/// What the API server would store of an object. Nothing where it takes none like it.
fn written(scene: &Scene<'_>, object: &Value) -> Option<String> {
    let answer = scene.post(&format!("{}?dryRun=All", boxes(scene)), object);
    answer.is_ok().then(|| parts(&answer.body))
}

/// What stages are about.
fn parts(object: &Value) -> String {
    let mut labels = object["metadata"]["labels"].clone();
    if let Some(labels) = labels.as_object_mut() {
        labels.remove("case");
    }
    json!([object["spec"], labels, object["metadata"]["annotations"]]).to_string()
}

/// As the objects of chance want it.
fn deployment(name: &str, pod: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"template": {"spec": pod}}})
}
