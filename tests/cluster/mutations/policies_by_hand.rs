//! Mutations as policies, for kinds with defaults of the API server: a policy of several steps leaves the same result
//! as a server, which applies all steps at once.

use std::time::Duration;

use hyper::Method;
use pointsman_core::webhook::FactValue;
use serde_json::{Value, json};

use crate::policy_case::{PolicyCase, Writing, anything_is_taken, boxes, facts, once_in_force, turn, without_case};
use crate::scenario::Scenario;
use crate::support::ctx::{CRDS, JSON, TestContext};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("policy_leaves_server_results_alone", alike).of(&WIDGETS).newest().under_policies(),
    Scenario::new("policy_refusals_are_documented", refused).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// A mutation of some objects, its operations before and after its fact, and an object.
struct ByHand {
    of: &'static str,
    /// The index of the fact.
    fact: usize,
    before: &'static str,
    after: &'static str,
    object: Value,
}

const DEPLOYMENT: &str = "apps v1 Deployment deployments spec.template.spec";
const POD: &str = "'' v1 Pod pods spec";
const SERVICE: &str = "'' v1 Service services spec";
const STORAGE: &str = "storage.k8s.io v1 StorageClass storageclasses .";
const SCALER: &str = "autoscaling v2 HorizontalPodAutoscaler horizontalpodautoscalers spec.template.spec";
const CRON: &str = "batch v1 CronJob cronjobs spec.jobTemplate.spec.template.spec";
const BOX: &str = "GROUP v1 Box boxes spec.template.spec";
/// A fact of the namespace, a fact of another object in the namespace, and a number.
const NAMESPACE: usize = 0;
const BESIDE: usize = 2;
const NUMBER: usize = 6;

fn deployment(strategy: &Value) -> Value {
    let containers = json!([
        {"name": "main", "image": "x:1", "args": ["--a=1", "--x", "y"], "ports": [{"containerPort": 80}]},
        {"name": "side", "image": "y:latest"},
    ]);
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}});
    let mut object = json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    object["spec"]["strategy"] = strategy.clone();
    object
}

fn boxed(words: &[String]) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "args": words}]}}}})
}

fn case(of: &'static str, fact: usize, before: &'static str, after: &'static str, object: Value) -> ByHand {
    ByHand { of, fact, before, after, object }
}

/// Defaults depend on the intermediate state.
fn of_deployments() -> Vec<ByHand> {
    vec![
        // The default `rollingUpdate` belongs to one of the two types.
        case(
            DEPLOYMENT,
            NAMESPACE,
            "[{set: {field: spec.strategy.type, value: RollingUpdate}}]",
            "[{set: {field: spec.strategy.type, value: Recreate}}]",
            deployment(&json!({"type": "Recreate"})),
        ),
        case(
            DEPLOYMENT,
            BESIDE,
            "[{unset: spec.strategy.rollingUpdate}, {set: {field: spec.strategy.type, value: Recreate}}]",
            "[{flag: {name: --z, value: '$(A)'}}]",
            deployment(&json!({})),
        ),
        // `imagePullPolicy` depends on the tag.
        case(
            DEPLOYMENT,
            NAMESPACE,
            "[{item: {list: containers, value: {name: new, image: 'n:latest'}}}, {noFlag: {of: main, name: --a}}]",
            "[{item: {list: spec.template.spec.containers, value: {name: new, image: 'n:1'}}}]",
            deployment(&json!({})),
        ),
        case(
            DEPLOYMENT,
            NUMBER,
            "[{set: {field: 'metadata.annotations[\"e.x/a\"]', value: \"a\\\"b\\\\c\\0\\U0001F686{{ }}\\n\"}}]",
            "[{set: {of: side, field: securityContext.runAsNonRoot, value: true}}, {unset: minReadySeconds}]",
            deployment(&json!({})),
        ),
        // The parent of a removed field stays.
        case(
            DEPLOYMENT,
            NAMESPACE,
            "[{set: {of: side, field: securityContext.runAsNonRoot, value: true}}, \
              {set: {field: metadata.annotations.a, value: x}}, {set: {field: spec.template.spec.dnsConfig.options, value: []}}]",
            "[{unset: {of: side, field: securityContext.runAsNonRoot}}, {unset: metadata.annotations.a}, \
              {unset: dnsConfig.options}]",
            deployment(&json!({})),
        ),
    ]
}

/// The same for other kinds, and expensive expressions.
fn of_others() -> Vec<ByHand> {
    let pod = json!({"spec": {
        "automountServiceAccountToken": false,
        "containers": [{"name": "main", "image": "x:1", "ports": [{"containerPort": 80}]}],
    }});
    let job = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]});
    let cron = json!({"spec": {
        "schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": job}}},
    }});
    vec![
        // `hostPort` has a default on the host network.
        case(POD, NAMESPACE, "[{set: {field: hostNetwork, value: true}}]", "[{unset: spec.hostNetwork}]", pod),
        // `externalTrafficPolicy` is only for Services with external access.
        case(
            SERVICE,
            NAMESPACE,
            "[{set: {field: spec.type, value: NodePort}}]",
            "[{set: {field: spec.type, value: ClusterIP}}]",
            json!({"spec": {"ports": [{"port": 80}]}}),
        ),
        // A cluster-scoped object has no other object in its namespace, and so no such fact.
        case(STORAGE, BESIDE, "[{set: {field: allowVolumeExpansion, value: true}}]", "[]", json!({"provisioner": "x"})),
        case(CRON, BESIDE, "[{flag: {name: --a, value: '2'}}]", "[{set: {field: hostNetwork, value: true}}]", cron),
        // The cost of an expression is limited.
        case(
            BOX,
            NAMESPACE,
            "[{flag: {of: main, name: --new}}, {flagEntries: {of: main, name: --flag-0003, entries: [a]}}]",
            "[{noFlagEntries: {of: main, name: --flag-0004, entries: [x]}}]",
            boxed(&(0..LONG).map(|at| format!("--flag-{at:04}=x")).collect::<Vec<_>>()),
        ),
        case(
            BOX,
            NAMESPACE,
            "[{flag: {of: main, name: --new}}]",
            "[{noFlag: {of: main, name: --x}}]",
            boxed(&["sh".to_owned(), "--x".to_owned(), "echo ".repeat(LONG * 10), "'c'".repeat(LONG * 10)]),
        ),
    ]
}

/// Words: several times as many as a command line has.
const LONG: usize = 1000;

impl ByHand {
    fn load(&self, ctx: &TestContext<'_>, (number, facts): (usize, &[String])) -> (PolicyCase, Value) {
        let of = self.of.replace("GROUP", &ctx.group);
        let [group, version, kind, plural, pod] = of.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let definition = format!(
            "apiVersion: pointsman.dev/v1\nkind: KindDefinition\n\
             resource: {{group: {group}, version: {version}, kind: {kind}, plural: {plural}, pod: {pod}}}\nmutations:\n\
             - name: case-{number}\n  fact: {}\n  labels: case={number}\n  failurePolicy: Ignore\n  always: {}\n  \
             onceTrue: {}\n",
            facts[self.fact], self.before, self.after
        );
        let group = group.trim_matches('\'');
        let api = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let folder = if group.is_empty() { "api" } else { "apis" };
        let namespace = if self.of == STORAGE { String::new() } else { format!("namespaces/{}/", ctx.ns) };
        let case = PolicyCase::load(&definition, &format!("/{folder}/{api}/{namespace}{plural}"))
            .unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(case.others, [], "{definition}");
        let mut object = self.object.clone();
        object["apiVersion"] = json!(api);
        object["kind"] = json!(kind);
        object["metadata"] = json!({"name": format!("{}-{number}", ctx.ns), "labels": {"case": number.to_string()}});
        if self.of != STORAGE {
            object["metadata"]["namespace"] = json!(ctx.ns);
        }
        (case, object)
    }
}

fn alike(ctx: &TestContext<'_>) {
    ctx.stop_pointsman();
    anything_is_taken(ctx);
    let facts = facts(ctx);
    let account = json!({"metadata": {"name": "default"}});
    ctx.post(&format!("/api/v1/namespaces/{}/serviceaccounts", ctx.ns), &account);
    let cases = of_deployments().into_iter().chain(of_others());
    let cases: Vec<_> = cases.enumerate().map(|(number, case)| case.load(ctx, (number, &facts))).collect();
    for (case, _) in &cases {
        case.install(ctx).unwrap_or_else(|why| panic!("{why}\n{}", case.definition));
    }
    turn(ctx, FactValue::False);
    cases.iter().for_each(|(case, object)| case.comes_into_force(ctx, object));
    let mut changed = vec![false; cases.len()];
    for is in [FactValue::False, FactValue::True] {
        turn(ctx, is);
        for (at, (case, object)) in cases.iter().enumerate() {
            for writing in [Writing::Create, Writing::Update, Writing::Apply] {
                let said = case.compare(ctx, object, (is, writing), PATIENCE);
                changed[at] |= said.unwrap_or_else(|why| panic!("{why}")) == Some(true);
            }
        }
    }
    assert!(!changed.contains(&false), "{changed:?}");
    what_goes_is_left_alone(ctx, &cases.last().expect("one of a box").1);
    for (case, _) in cases {
        case.remove(ctx);
    }
    ctx.call(Method::DELETE, &format!("{CRDS}/boxes.{}", ctx.group), None).ok();
}

/// The time limit for the observation of a fact.
const PATIENCE: Duration = Duration::from_secs(20);

fn what_goes_is_left_alone(ctx: &TestContext<'_>, object: &Value) {
    let mut going = without_case(object);
    going["metadata"]["finalizers"] = json!(["example.com/held"]);
    let made = ctx.post(&boxes(ctx), &going).ok();
    let one = format!("{}/{}", boxes(ctx), made["metadata"]["name"].as_str().unwrap());
    ctx.call(Method::DELETE, &one, None).ok();
    let mut update = object.clone();
    update["metadata"]["resourceVersion"] = ctx.call_get(&one)["metadata"]["resourceVersion"].clone();
    let last = ctx.call(Method::PUT, &one, Some((JSON, update.to_string()))).ok();
    assert_eq!(last["spec"], object["spec"]);
}

/// The limits in docs/mutations.md.
fn refused(ctx: &TestContext<'_>) {
    ctx.stop_pointsman();
    anything_is_taken(ctx);
    let facts = facts(ctx);
    let unknown = ByHand {
        of: DEPLOYMENT,
        fact: NAMESPACE,
        before: "[{set: {field: spec.unheardOf, value: 1}}]",
        after: "[]",
        object: deployment(&json!({})),
    };
    let scaler = ByHand {
        of: SCALER,
        fact: NAMESPACE,
        before: "[{set: {field: spec.maxReplicas, value: 7}}]",
        after: "[]",
        object: json!({"spec": {
            "maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"},
        }}),
    };
    let [(unknown, deployment), (scaler, object)] = [unknown.load(ctx, (100, &facts)), scaler.load(ctx, (101, &facts))];
    for case in [&unknown, &scaler] {
        case.install(ctx).unwrap();
    }
    once_in_force(|| (scaler.compare(ctx, &object, NOW, Duration::ZERO) == Ok(Some(true))).then_some(()));
    let why = once_in_force(|| unknown.compare(ctx, &deployment, NOW, Duration::ZERO).err());
    assert!(why.contains("unknown field \"spec.unheardOf\""), "{why}");
    let mut other = object;
    other["apiVersion"] = json!("autoscaling/v1");
    let all = format!("/apis/autoscaling/v1/namespaces/{}/horizontalpodautoscalers?dryRun=All", ctx.ns);
    let answer = ctx.post(&all, &other);
    assert!(answer.is_ok(), "{}", answer.message());
    assert_eq!(answer.body["spec"]["maxReplicas"], 3, "an expression with an error leaves the object unchanged");
    for case in [&unknown, &scaler] {
        case.remove(ctx);
    }
    ctx.call(Method::DELETE, &format!("{CRDS}/boxes.{}", ctx.group), None).ok();
}

const NOW: (FactValue, Writing) = (FactValue::False, Writing::Create);
