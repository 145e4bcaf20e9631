//! Mutations as policies, which the API server evaluates itself: the result equals the result of a pointsman server.
//!
//! Mutations and objects are random. `POINTSMAN_SEED` is the random seed, with a constant default; `POINTSMAN_CASES` is
//! the number of definitions.

use std::time::Duration;

use hyper::Method;
use pointsman_core::laws::Random;
use pointsman_core::webhook::FactValue;
use serde_json::{Value, json};

use crate::mutations::facts::{
    self, FINISHED, NAMES, NEEDS_COMPLETE, annotate, commands, configuration, define, generation, metric, mutated,
    nudge, offline, path,
};
use crate::mutations::nasty;
use crate::policy_case::{
    PolicyCase, Writing, anything_is_taken, boxes, facts, once_in_force, parts, turn, without_case,
};
use crate::scenario::Scenario;
use crate::support::ctx::{CRDS, JSON, MERGE, TestContext};
use crate::support::sample::{Sample, WIDGET};

#[path = "../../../crates/core/tests/it/mutations/chance.rs"]
mod chance;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("deployments_follow_facts_without_server", followed_alone).of(&WIDGETS).newest(),
    Scenario::new("policy_agrees_with_server", alike).of(&WIDGETS).newest().under_policies(),
    Scenario::new("policy_and_server_apply_once", beside_others).of(&WIDGETS).newest().under_policies(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// The scenario of `mutations.rs`, byte by byte, with policies instead of servers.
fn followed_alone(ctx: &TestContext<'_>) {
    define(ctx);
    ctx.stop_pointsman();
    let policies = printed(ctx);
    assert_eq!(policies["items"].as_array().map(Vec::len), Some(2), "{policies}");
    // The expected objects, computed by pointsman without a policy.
    let wanted = |fact: &str| NAMES.map(|name| stored(ctx, &mutated(ctx, &facts::deployment(ctx, name), fact)));
    let [before, after] = ["false", "true"].map(wanted);
    ctx.kubectl(&["apply"], &policies);
    for (name, before) in NAMES.iter().zip(&before) {
        once_in_force(|| (spec_of(&stored(ctx, &facts::deployment(ctx, name))) == spec_of(before)).then_some(()));
        ctx.post(&path(ctx, ""), &facts::deployment(ctx, name)).ok();
    }

    annotate(ctx, NEEDS_COMPLETE);
    for (name, after) in NAMES.iter().zip(&after) {
        let before = ctx.call_get(&path(ctx, name));
        let nudged = ctx.eventually(|| {
            let nudged = nudge(ctx, name).ok();
            (generation(&nudged) > generation(&before)).then_some(nudged)
        });
        assert_eq!(spec_of(&nudged), spec_of(after), "{name}");
        let again = nudge(ctx, name).ok();
        assert_eq!(again["metadata"]["resourceVersion"], nudged["metadata"]["resourceVersion"], "{name} is quiet");
    }
    annotate(ctx, FINISHED);
    ctx.call(Method::DELETE, &path(ctx, "kube-scheduler"), None).ok();
    // An oversized command line: the cost of an expression is limited.
    let mut long = facts::deployment(ctx, "kube-scheduler");
    let words = long["spec"]["template"]["spec"]["containers"][0]["command"].as_array_mut().unwrap();
    words.extend((0..LONG).map(|at| json!(format!("--some-flag-of-a-long-name-{at:04}={}", "x".repeat(40)))));
    let made = ctx.eventually(|| {
        let made = ctx.post(&path(ctx, ""), &long);
        (made.code != 409).then(|| made.ok())
    });
    let words_of = |object: &Value| object["spec"]["template"]["spec"]["containers"][0]["command"].clone();
    assert_eq!(words_of(&made), words_of(&mutated(ctx, &long, "true")));
    ctx.kubectl(&["delete"], &policies);
}

/// Policies and servers at the same time, with a foreign policy that changes the same list: no change is applied twice
/// and none is lost. After the removal of the fact, new objects are as before the fact.
fn beside_others(ctx: &TestContext<'_>) {
    define(ctx);
    facts::serve(ctx, &ctx.test_cluster.api.kubeconfig);
    let (webhooks, policies, theirs) = (configuration(ctx), printed(ctx), adds_a_flag(ctx));
    ctx.eventually(|| metric(ctx, "pointsman_fact_known{resource=\"namespaces\"} 1\n").then_some(()));
    for documents in [&theirs, &webhooks, &policies] {
        ctx.kubectl(&["apply"], documents);
    }
    let is_as = |object: &Value, wanted: &Value| {
        let [mut now, wanted] = [commands(object), wanted.clone()];
        let words = now[0][0][1].as_array_mut().unwrap();
        let others = words.iter().filter(|word| **word == "--theirs=1").count();
        words.retain(|word| *word != "--theirs=1");
        others == 1 && now == wanted
    };
    let made = |name: &str, fact: &str| {
        let wanted = offline(ctx, &facts::deployment(ctx, name), fact);
        let dry = format!("{}?dryRun=All", path(ctx, ""));
        ctx.eventually(|| {
            let answer = ctx.post(&dry, &facts::deployment(ctx, name));
            (answer.is_ok() && is_as(&answer.body, &wanted)).then_some(())
        });
        wanted
    };
    for name in NAMES {
        let wanted = made(name, "false");
        let object = ctx.post(&path(ctx, ""), &facts::deployment(ctx, name)).ok();
        assert!(is_as(&object, &wanted), "{name}: {}", commands(&object));
    }
    annotate(ctx, NEEDS_COMPLETE);
    for name in NAMES {
        let wanted = offline(ctx, &facts::deployment(ctx, name), "true");
        let now = ctx.eventually(|| {
            let nudged = nudge(ctx, name).ok();
            is_as(&nudged, &wanted).then_some(nudged)
        });
        let again = nudge(ctx, name).ok();
        assert_eq!(again["metadata"]["resourceVersion"], now["metadata"]["resourceVersion"], "{name} is quiet");
    }
    // Without the fact, a new object is as before the fact, and existing objects keep all changes.
    let none = json!({"metadata": {"annotations": {NEEDS_COMPLETE: null}}}).to_string();
    ctx.call(Method::PATCH, &format!("/api/v1/namespaces/{}", ctx.ns), Some((MERGE, none))).ok();
    ctx.call(Method::DELETE, &path(ctx, "kube-scheduler"), None).ok();
    made("kube-scheduler", "false");
    let kept = ctx.call_get(&path(ctx, "kube-controller-manager"));
    let nudged = nudge(ctx, "kube-controller-manager").ok();
    assert_eq!(commands(&nudged), offline(ctx, &kept, "false"));
    for documents in [&policies, &webhooks, &theirs] {
        ctx.kubectl(&["delete"], documents);
    }
}

/// A foreign policy that adds a flag to the first container of every Deployment.
fn adds_a_flag(ctx: &TestContext<'_>) -> Value {
    let name = format!("{}-theirs", ctx.ns);
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
    let namespaces = json!({"matchLabels": {"kubernetes.io/metadata.name": ctx.ns}});
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name}, "spec": {"policyName": name, "matchResources": {"namespaceSelector": namespaces}},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [policy, binding]})
}

/// Flags: several times as many as an API server has.
const LONG: usize = 500;

/// The output of `pointsman webhooks mutations --policy` for the definitions of a ctx.
fn printed(ctx: &TestContext<'_>) -> Value {
    let kinds = format!("--kinds={}", ctx.setup.kinds.display());
    let args = ["webhooks", "mutations", "--kind=deployments", "--policy", &kinds, "--output=json"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The object that the API server would store for a creation.
fn stored(ctx: &TestContext<'_>, document: &Value) -> Value {
    ctx.post(&format!("{}?dryRun=All", path(ctx, "")), document).ok()
}

/// The spec as text: the API server writes the members of an object in one order.
fn spec_of(object: &Value) -> String {
    object["spec"].to_string()
}

fn alike(ctx: &TestContext<'_>) {
    let number = |name: &str| -> Option<usize> { std::env::var(name).ok()?.parse().ok() };
    let (seed, wanted) = (number("POINTSMAN_SEED").unwrap_or(0), number("POINTSMAN_CASES").unwrap_or(20));
    let mut random = Random::new(seed as u64);
    ctx.stop_pointsman();
    anything_is_taken(ctx);
    let facts = facts(ctx);
    let cases: Vec<Case> =
        (0..).filter_map(|number| Case::by_chance(ctx, (number, &facts), &mut random)).take(wanted).collect();
    for case in &cases {
        case.policies.install(ctx).unwrap_or_else(|why| panic!("{why}\n{}", case.policies.definition));
    }
    turn(ctx, FactValue::False);
    for (case, (object, _)) in cases.iter().filter_map(|case| Some((case, case.objects.first()?))) {
        case.policies.comes_into_force(ctx, object);
    }
    let mut changed = 0;
    let mut differ = Vec::new();
    for is in [FactValue::False, FactValue::True] {
        turn(ctx, is);
        for case in &cases {
            for (object, writing) in &case.objects {
                match case.policies.compare(ctx, object, (is, *writing), PATIENCE) {
                    Ok(said) => changed += usize::from(said == Some(true)),
                    Err(why) => differ.push(why),
                }
            }
        }
    }
    assert!(differ.is_empty(), "POINTSMAN_SEED={seed}: {} differ\n{}", differ.len(), differ.join("\n\n"));
    assert!(cases.iter().any(|case| case.lets_go(ctx)), "some object was changed");
    println!(
        "     policies of mutations: POINTSMAN_SEED={seed}, {wanted} definitions, {changed} objects changed alike"
    );
    assert!(changed > wanted / 2, "{changed} of {}", wanted * 2 * OBJECTS);
    for case in cases {
        case.policies.remove(ctx);
    }
    ctx.call(Method::DELETE, &format!("{CRDS}/boxes.{}", ctx.group), None).ok();
}

/// Objects for each definition.
const OBJECTS: usize = 4;
/// The time limit for the observation of a fact.
const PATIENCE: Duration = Duration::from_secs(10);

/// A definition, its policies in the API server, and its objects.
struct Case {
    policies: PolicyCase,
    objects: Vec<(Value, Writing)>,
}

impl Case {
    /// Returns `None` if the definition is refused because its operations conflict.
    fn by_chance(ctx: &TestContext<'_>, (number, facts): (usize, &[String]), random: &mut Random) -> Option<Self> {
        let list = |random: &mut Random| {
            let mut all = chance::operations(random);
            if let Some(all) = all.as_array_mut()
                && random.percent(60)
            {
                all.push(nasty::operation(random));
                all.push(nasty::operation(random));
                random.shuffle(all);
            }
            all
        };
        let mutations: Vec<String> = (0..if random.percent(25) { 2 } else { 1 })
            .map(|at| {
                let [before, after] = [list(random), list(random)];
                let fact = random.pick(facts).unwrap();
                format!(
                    "- name: case-{number}-{at}\n  fact: {fact}\n  labels: case={number}\n  always: {before}\n  \
                     onceTrue: {after}\n"
                )
            })
            .collect();
        let definition = format!(
            "apiVersion: pointsman.dev/v1\nkind: KindDefinition\n\
             resource: {{group: {}, version: v1, kind: Box, plural: boxes}}\nmutations:\n{}",
            ctx.group,
            mutations.concat()
        );
        let policies = PolicyCase::load(&definition, &boxes(ctx)).ok()?;
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
            object["apiVersion"] = json!(format!("{}/{version}", ctx.group));
            object["kind"] = json!("Box");
            if !object["metadata"].is_object() {
                object["metadata"] = json!({"name": "main"});
            }
            object["metadata"]["namespace"] = json!(ctx.ns);
            if random.percent(30) {
                run_a_shell(&mut object, random);
            }
            if random.percent(60) {
                nasty::spoil(&mut object, random);
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

/// Reasons for random mutations that cannot be policies.
const LEFT_OUT: [&str; 2] = ["two policies have no order", "the API server fills in defaults in between"];

/// Inserts shell syntax into the words of a command line.
fn run_a_shell(object: &mut Value, random: &mut Random) {
    let words = object.pointer_mut("/spec/template/spec/containers/0/command").and_then(Value::as_array_mut);
    let Some(words) = words else { return };
    for _ in 0..=random.below(3) {
        let word = random.word(&["/bin/sh", "bash", "su", "-c", "-ec", "-o", "+x", "--rcfile", "SHELL=/bin/sh"]);
        words.insert(random.below(words.len() + 1), json!(word));
    }
}

impl Case {
    /// Selectors match the old object as well. A mutation ignores an object that has lost its label. Returns true if an
    /// object showed this.
    fn lets_go(&self, ctx: &TestContext<'_>) -> bool {
        let takes = |object: &&(Value, Writing)| {
            written(ctx, &without_case(&object.0))
                .is_some_and(|sent| sent != written(ctx, &object.0).unwrap_or_default())
        };
        let Some((object, _)) = self.objects.iter().find(takes) else { return false };
        let made = ctx.post(&boxes(ctx), object).ok();
        let name = made["metadata"]["name"].as_str().unwrap();
        let mut update = without_case(object);
        update["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
        let answer = ctx.call(Method::PUT, &format!("{}/{name}", boxes(ctx)), Some((JSON, update.to_string()))).ok();
        ctx.call(Method::DELETE, &format!("{}/{name}", boxes(ctx)), None).ok();
        assert_eq!(Some(parts(&answer)), written(ctx, &update), "{}", self.policies.definition);
        true
    }
}

/// The object that the API server would store; `None` if the API server refuses it.
fn written(ctx: &TestContext<'_>, object: &Value) -> Option<String> {
    let answer = ctx.post(&format!("{}?dryRun=All", boxes(ctx)), object);
    answer.is_ok().then(|| parts(&answer.body))
}

/// A Deployment in the form of the random objects.
fn deployment(name: &str, pod: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"template": {"spec": pod}}})
}
