//! Stages as policies, which the API server evaluates by itself: what they make of an object is what a server of ours
//! makes of it.
//!
//! Stages and objects are made by chance. `POINTSMAN_SEED` is where chance begins, the same place each time unless it
//! is set; `POINTSMAN_CASES` is how many definitions are tried.

use std::time::Duration;

use hyper::Method;
use pointsman_core::laws::Random;
use pointsman_core::webhook::FactValue;
use serde_json::{Value, json};

use crate::nasty_stages;
use crate::policy_case::{
    PolicyCase, Writing, anything_is_taken, boxes, facts, once_in_force, parts, turn, without_case,
};
use crate::scenario::Scenario;
use crate::stages::{
    self, FINISHED, NAMES, NEEDS_COMPLETE, annotate, commands, configuration, define, generation, metric, mutated,
    nudge, offline, path,
};
use crate::support::sample::{Sample, WIDGET};
use crate::support::scene::{CRDS, JSON, MERGE, Scene};

#[path = "../../crates/core/tests/it/stages/chance.rs"]
mod chance;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("deployments_follow_facts_without_server", followed_alone).of(&WIDGETS).newest(),
    Scenario::new("policy_agrees_with_server", alike)
        .of(&WIDGETS)
        .newest()
        .under_policies(),
    Scenario::new("policy_and_server_apply_once", beside_others)
        .of(&WIDGETS)
        .newest()
        .under_policies(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// The story of `stages.rs`, byte by byte, with policies in the place of servers.
fn followed_alone(scene: &Scene<'_>) {
    define(scene);
    scene.stop_pointsman();
    let policies = printed(scene);
    assert_eq!(policies["items"].as_array().map(Vec::len), Some(2), "{policies}");
    // What becomes of each where no policy is: the same object, as the server of ours says it has to be.
    let wanted = |fact: &str| NAMES.map(|name| stored(scene, &mutated(scene, &stages::deployment(scene, name), fact)));
    let [before, after] = ["false", "true"].map(wanted);
    scene.kubectl(&["apply"], &policies);
    for (name, before) in NAMES.iter().zip(&before) {
        once_in_force(|| (spec_of(&stored(scene, &stages::deployment(scene, name))) == spec_of(before)).then_some(()));
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
    assert_eq!(words_of(&made), words_of(&mutated(scene, &long, "true")));
    scene.kubectl(&["delete"], &policies);
}

/// Policies and servers at the same time, beside somebody else's policy that changes the same list: nothing is done
/// twice, and nobody's change is lost. Where the fact is taken away in the middle, what is made next is as before it.
fn beside_others(scene: &Scene<'_>) {
    define(scene);
    stages::serve(scene, &scene.bed.api.kubeconfig);
    let (webhooks, policies, theirs) = (configuration(scene), printed(scene), adds_a_flag(scene));
    scene.eventually(|| metric(scene, "pointsman_fact_known{resource=\"namespaces\"} 1\n").then_some(()));
    for documents in [&theirs, &webhooks, &policies] {
        scene.kubectl(&["apply"], documents);
    }
    let is_as = |object: &Value, wanted: &Value| {
        let [mut now, wanted] = [commands(object), wanted.clone()];
        let words = now[0][0][1].as_array_mut().unwrap();
        let others = words.iter().filter(|word| **word == "--theirs=1").count();
        words.retain(|word| *word != "--theirs=1");
        others == 1 && now == wanted
    };
    let made = |name: &str, fact: &str| {
        let wanted = offline(scene, &stages::deployment(scene, name), fact);
        let dry = format!("{}?dryRun=All", path(scene, ""));
        scene.eventually(|| {
            let answer = scene.post(&dry, &stages::deployment(scene, name));
            (answer.is_ok() && is_as(&answer.body, &wanted)).then_some(())
        });
        wanted
    };
    for name in NAMES {
        let wanted = made(name, "false");
        let object = scene.post(&path(scene, ""), &stages::deployment(scene, name)).ok();
        assert!(is_as(&object, &wanted), "{name}: {}", commands(&object));
    }
    annotate(scene, NEEDS_COMPLETE);
    for name in NAMES {
        let wanted = offline(scene, &stages::deployment(scene, name), "true");
        let now = scene.eventually(|| {
            let nudged = nudge(scene, name).ok();
            is_as(&nudged, &wanted).then_some(nudged)
        });
        let again = nudge(scene, name).ok();
        assert_eq!(again["metadata"]["resourceVersion"], now["metadata"]["resourceVersion"], "{name} is quiet");
    }
    // The fact is gone: one that is made now is as before it, and no operation takes anything back of those that are
    // there.
    let none = json!({"metadata": {"annotations": {NEEDS_COMPLETE: null}}}).to_string();
    scene.call(Method::PATCH, &format!("/api/v1/namespaces/{}", scene.ns), Some((MERGE, none))).ok();
    scene.call(Method::DELETE, &path(scene, "kube-scheduler"), None).ok();
    made("kube-scheduler", "false");
    let kept = scene.call_get(&path(scene, "kube-controller-manager"));
    let nudged = nudge(scene, "kube-controller-manager").ok();
    assert_eq!(commands(&nudged), offline(scene, &kept, "false"));
    for documents in [&policies, &webhooks, &theirs] {
        scene.kubectl(&["delete"], documents);
    }
}

/// Somebody else's policy, which has every first container of a Deployment started with one more flag.
fn adds_a_flag(scene: &Scene<'_>) -> Value {
    let name = format!("{}-theirs", scene.ns);
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"],
    });
    let command = "object.spec.template.spec.containers[0].command";
    let patch = format!(
        "'--theirs=1' in {command} ? [] : \
         [JSONPatch{{op: 'add', path: '/spec/template/spec/containers/0/command/-', value: '--theirs=1'}}]"
    );
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail", "reinvocationPolicy": "IfNeeded",
            "matchConstraints": {"resourceRules": [rule]},
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        },
    });
    let namespaces = json!({"matchLabels": {"kubernetes.io/metadata.name": scene.ns}});
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name}, "spec": {"policyName": name, "matchResources": {"namespaceSelector": namespaces}},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [policy, binding]})
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
    let facts = facts(scene);
    let cases: Vec<Case> =
        (0..).filter_map(|number| Case::by_chance(scene, (number, &facts), &mut random)).take(wanted).collect();
    for case in &cases {
        case.policies.install(scene).unwrap_or_else(|why| panic!("{why}\n{}", case.policies.definition));
    }
    turn(scene, FactValue::False);
    for (case, (object, _)) in cases.iter().filter_map(|case| Some((case, case.objects.first()?))) {
        case.policies.comes_into_force(scene, object);
    }
    let mut changed = 0;
    let mut differ = Vec::new();
    for is in [FactValue::False, FactValue::True] {
        turn(scene, is);
        for case in &cases {
            for (object, writing) in &case.objects {
                match case.policies.compare(scene, object, (is, *writing), PATIENCE) {
                    Ok(said) => changed += usize::from(said == Some(true)),
                    Err(why) => differ.push(why),
                }
            }
        }
    }
    assert!(differ.is_empty(), "POINTSMAN_SEED={seed}: {} differ\n{}", differ.len(), differ.join("\n\n"));
    assert!(cases.iter().any(|case| case.lets_go(scene)), "some object was changed");
    println!("     policies of stages: POINTSMAN_SEED={seed}, {wanted} definitions, {changed} objects changed alike");
    assert!(changed > wanted / 2, "{changed} of {}", wanted * 2 * OBJECTS);
    for case in cases {
        case.policies.remove(scene);
    }
    scene.call(Method::DELETE, &format!("{CRDS}/boxes.{}", scene.group), None).ok();
}

/// Objects for each definition.
const OBJECTS: usize = 4;
/// How long a fact may take to be heard of.
const PATIENCE: Duration = Duration::from_secs(10);

/// A definition, what becomes of it in the API server, and objects for it.
struct Case {
    policies: PolicyCase,
    objects: Vec<(Value, Writing)>,
}

impl Case {
    /// Nothing where the definition is refused, as operations are against each other.
    fn by_chance(scene: &Scene<'_>, (number, facts): (usize, &[String]), random: &mut Random) -> Option<Self> {
        let list = |random: &mut Random| {
            let mut all = chance::operations(random);
            if let Some(all) = all.as_array_mut()
                && random.percent(60)
            {
                all.push(nasty_stages::operation(random));
                all.push(nasty_stages::operation(random));
                random.shuffle(all);
            }
            all
        };
        let stages: Vec<String> = (0..if random.percent(25) { 2 } else { 1 })
            .map(|at| {
                let [before, after] = [list(random), list(random)];
                let fact = random.pick(facts).unwrap();
                format!(
                    "- name: case-{number}-{at}\n  fact: {fact}\n  labels: case={number}\n  before: {before}\n  \
                     after: {after}\n"
                )
            })
            .collect();
        let definition = format!(
            "apiVersion: pointsman.dev/v1\nkind: KindDefinition\n\
             resource: {{group: {}, version: v1, kind: Box, plural: boxes}}\nstages:\n{}",
            scene.group,
            stages.concat()
        );
        let policies = PolicyCase::load(&definition, &boxes(scene)).ok()?;
        if let [(_, why), ..] = policies.others.as_slice() {
            assert!(LEFT_OUT.iter().any(|known| why.contains(known)), "{why}: {definition}");
            return None;
        }
        let object = |random: &mut Random| {
            let mut object = chance::object(random);
            if !object.is_object() {
                object = json!({});
            }
            let version = if random.percent(90) { "v1" } else { "v2" };
            object["apiVersion"] = json!(format!("{}/{version}", scene.group));
            object["kind"] = json!("Box");
            if !object["metadata"].is_object() {
                object["metadata"] = json!({"name": "main"});
            }
            object["metadata"]["namespace"] = json!(scene.ns);
            if random.percent(30) {
                run_a_shell(&mut object, random);
            }
            if random.percent(60) {
                nasty_stages::spoil(&mut object, random);
            }
            let labels = if random.percent(50) { json!({"role": "x"}) } else { json!({}) };
            object["metadata"]["labels"] = labels;
            object["metadata"]["labels"]["case"] = json!(number.to_string());
            let is_new = !object["metadata"]["name"].is_string() || random.percent(80);
            (object, if is_new { Writing::Create } else { Writing::Update })
        };
        let objects = (0..OBJECTS).map(|_| object(random)).collect();
        Some(Self { policies, objects })
    }
}

/// Why what chance makes is no policy.
const LEFT_OUT: [&str; 2] = ["two policies have no order", "the API server fills in defaults in between"];

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
        let takes = |object: &&(Value, Writing)| {
            written(scene, &without_case(&object.0))
                .is_some_and(|sent| sent != written(scene, &object.0).unwrap_or_default())
        };
        let Some((object, _)) = self.objects.iter().find(takes) else { return false };
        let made = scene.post(&boxes(scene), object).ok();
        let name = made["metadata"]["name"].as_str().unwrap();
        let mut update = without_case(object);
        update["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
        let answer =
            scene.call(Method::PUT, &format!("{}/{name}", boxes(scene)), Some((JSON, update.to_string()))).ok();
        scene.call(Method::DELETE, &format!("{}/{name}", boxes(scene)), None).ok();
        assert_eq!(Some(parts(&answer)), written(scene, &update), "{}", self.policies.definition);
        true
    }
}

/// What the API server would store of an object. Nothing where it takes none like it.
fn written(scene: &Scene<'_>, object: &Value) -> Option<String> {
    let answer = scene.post(&format!("{}?dryRun=All", boxes(scene)), object);
    answer.is_ok().then(|| parts(&answer.body))
}

/// As the objects of chance want it.
fn deployment(name: &str, pod: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"template": {"spec": pod}}})
}
