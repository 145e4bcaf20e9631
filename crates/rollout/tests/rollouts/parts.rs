//! Parts of an object that each run a version: reported ranges, and gates on one part.

use std::sync::LazyLock;

use cel::{Context, Program};
use pointsman_core::definition::Kind;
use pointsman_core::laws::Random;
use pointsman_rollout::documents::{freeze, rollout_roles};
use pointsman_rollout::{
    FleetObject, LookupRequest, LookupResults, LookupTarget, OwnerReferences, PlanInput, Rollout, RolloutStatus,
    RunningVersions, answered_rollout, forecast, plan, rollout_lookups,
};
use serde_json::{Value, json};

use crate::patches::NOW;

/// Hosts; some have a control plane, and all have a kubelet.
static HOSTS: LazyLock<Kind> = LazyLock::new(|| {
    let definition = include_str!("../../../../tests/data/hosts/hosts.yaml");
    Kind::from_crd(definition, include_str!("../../../../tests/data/hosts/hosts.crd.yaml")).unwrap()
});

/// Hosts whose Pods and Node report the running versions.
static WATCHED_HOSTS: LazyLock<Kind> = LazyLock::new(|| {
    let definition = include_str!("../../../../tests/data/hosts/hosts.yaml");
    let (before, after) = definition.split_once("  - {part: control-plane").unwrap();
    let (_, after) = after.split_once("  role:").unwrap();
    let definition = format!("{before}{OTHERS}  role:{after}");
    Kind::from_crd(&definition, include_str!("../../../../tests/data/hosts/hosts.crd.yaml")).unwrap()
});

/// The fields of Pods and Node that report a host's versions.
const OTHERS: &str = "  - part: control-plane
    from:
      list: pods
      namespace: kube-system
      where: component=kube-apiserver
      by: spec.nodeName
      item: {list: spec.containers, name: kube-apiserver}
    field: image
    as: imageTag
    optional: true
  - {part: kubelet, from: {list: nodes, by: metadata.name}, field: status.nodeInfo.kubeletVersion}
";

const OLD: &str = "v1.16.4";
const NEW: &str = "v1.17.1";

fn answered(more: &Value, kind: &Kind) -> Result<Rollout, String> {
    let mut spec = json!({
        "kind": "host", "workflow": "kubelet", "from": OLD, "to": NEW, "waves": [{"name": "all", "maxInFlight": 2}],
        "acceptedRisks": ["no-way-back"],
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let metadata = json!({"name": "r", "uid": "rollout-1"});
    let document =
        json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": metadata, "spec": spec});
    answered_rollout(&document, kind).map_err(|bad| bad.to_string())
}

fn rollout(more: &Value) -> Rollout {
    answered(more, &HOSTS).unwrap()
}

/// A host with these running versions; null means that the host has no control plane.
fn host(name: &str, control_plane: &Value, kubelet: &Value) -> Value {
    let image = control_plane.as_str().map(|version| format!("registry:9001/kube-apiserver:{version}@sha256:00"));
    let status = json!({
        "controlPlane": {"image": image}, "kubelet": kubelet, "conditions": [{"type": "Ready", "status": "True"}],
    });
    json!({
        "metadata": {"namespace": "site", "name": name, "uid": format!("u-{name}")},
        "spec": {"personality": if control_plane.is_null() { "worker" } else { "controller" }}, "status": status,
    })
}

fn seen(rollout: &Rollout, hosts: &[Value]) -> Vec<FleetObject> {
    hosts.iter().map(|host| FleetObject::of(host, rollout).unwrap()).collect()
}

/// The status that a plan would write.
fn said(rollout: &Rollout, hosts: &[Value], before: &RolloutStatus, consistent: bool) -> RolloutStatus {
    // The gate is closed, so the message covers only the observed versions.
    let facts = PlanInput { consistent, closed_gate: Some("shut".to_owned()), ..PlanInput::default() };
    plan(rollout, before, &seen(rollout, hosts), facts, NOW).status
}

/// The range from lowest to highest version of a part, or of all parts; `None` if unknown.
fn span(status: &RolloutStatus, part: Option<&str>) -> Option<String> {
    let (lowest, highest) = match part {
        None => status.lowest.as_ref().zip(status.highest.as_ref())?,
        Some(part) => status.parts.get(part).map(|range| (&range.lowest, &range.highest))?,
    };
    Some(format!("{}..{}", lowest.version, highest.version))
}

fn under_way(names: &[&str]) -> RolloutStatus {
    let since = "2026-11-18T11:06:40Z";
    let reserved: Vec<Value> = names
        .iter()
        .map(
            |name| json!({"object": format!("site/{name}"), "uid": format!("u-{name}"), "since": since, "wave": "all"}),
        )
        .collect();
    RolloutStatus::of(&json!({"status": {"phase": "Rolling", "started": since, "inFlight": reserved}}))
}

#[test]
fn part_versions_are_reported_conservatively() {
    let (rollout, fresh, none) = (rollout(&json!({})), RolloutStatus::default(), Value::Null);
    let [old, new] = [json!(OLD), json!(NEW)];
    let told = |hosts: &[Value], before: &RolloutStatus, consistent: bool| {
        let status = said(&rollout, hosts, before, consistent);
        [span(&status, Some("control-plane")), span(&status, Some("kubelet")), span(&status, None)]
    };
    let is = |spans: [&str; 3]| spans.map(|span| Some(span.to_owned()).filter(|span| !span.is_empty()));
    let both = "v1.16.4..v1.17.1";
    let masters = [host("a", &new, &old), host("b", &new, &old), host("c", &none, &old)];
    assert_eq!(told(&masters, &fresh, true), is(["v1.17.1..v1.17.1", "v1.16.4..v1.16.4", both]));
    // No host has a control plane: its version is unknown.
    assert_eq!(told(&masters[2..], &fresh, true), is(["", "v1.16.4..v1.16.4", "v1.16.4..v1.16.4"]));
    // One kubelet has an unknown version; the range of the control planes is still reported.
    let dumb = [masters[0].clone(), host("d", &none, &none)];
    assert_eq!(told(&dumb, &fresh, true), is(["v1.17.1..v1.17.1", "", ""]));
    let odd = [masters[0].clone(), host("d", &json!("latest"), &new)];
    assert_eq!(told(&odd, &fresh, true), is(["", both, ""]));
    // A workflow may change any part that a host has.
    assert_eq!(told(&masters, &under_way(&["c"]), true), is(["v1.17.1..v1.17.1", both, both]));
    assert_eq!(told(&masters, &under_way(&["a"]), true), is([both, both, both]));
    // A cache may miss a new object.
    assert_eq!(told(&masters, &fresh, false), is(["", "", ""]));
    let known = said(&rollout, &[host("a", &old, &old)], &fresh, true);
    assert_eq!(told(&masters, &known, false), is([both, "v1.16.4..v1.16.4", both]));
    assert_eq!(told(&masters, &known, true), is(["v1.17.1..v1.17.1", "v1.16.4..v1.16.4", both]));
}

/// The range of all parts spans from the lowest to the highest part, and an unknown part makes the range unknown.
/// Observed versions, and versions possibly in flight, are never outside the range.
#[test]
fn running_range_spans_all_parts() {
    let (rollout, versions) = (rollout(&json!({})), [json!("v1.15.0"), json!(OLD), json!(NEW), json!("v1.18.1")]);
    let mut ends = [0_u32; 3];
    for seed in 0..2_000 {
        let random = &mut Random::new(seed);
        let hosts: Vec<Value> = (0..1 + random.below(4))
            .map(|at| {
                let mut version = |absent| match random.percent(absent) {
                    true => Value::Null,
                    false => random.pick(&versions).unwrap().clone(),
                };
                host(&format!("h{at}"), &version(40), &version(8))
            })
            .collect();
        let busy: Vec<String> = (0..hosts.len()).filter(|_| random.percent(20)).map(|at| format!("h{at}")).collect();
        let busy: Vec<&str> = busy.iter().map(String::as_str).collect();
        let status = said(&rollout, &hosts, &under_way(&busy), true);
        let ranges: Vec<_> = ["control-plane", "kubelet"].iter().map(|part| status.parts.get(*part)).collect();
        let case = || format!("seed {seed}: {hosts:#?} under way {busy:?}: {:?}", status.to_json());
        let (images, kubelets) = ("/status/controlPlane/image", "/status/kubelet");
        for (path, range) in [images, kubelets].into_iter().zip(&ranges) {
            let of = |host: &Value| host.pointer(path).and_then(Value::as_str).map(str::to_owned);
            let runs: Vec<String> = hosts.iter().filter_map(of).collect();
            let is_unknown = if path == images { runs.is_empty() } else { runs.len() < hosts.len() };
            assert_eq!(range.is_none(), is_unknown, "{path}: {}", case());
            let Some(range) = range else { continue };
            let is_within = |version: &str| *range.lowest.version <= *version && *version <= *range.highest.version;
            for image in runs {
                let version = image.rsplit_once(':').map_or(&*image, |_| image.split([':', '@']).nth(2).unwrap());
                assert!(is_within(version), "{path} {version}: {}", case());
            }
            let goes = |host: &Value| busy.iter().any(|name| host["metadata"]["name"] == *name);
            if hosts.iter().any(|host| goes(host) && of(host).is_some()) {
                assert!(is_within(OLD) && is_within(NEW), "{path}: {}", case());
            }
        }
        let known: Vec<_> = ranges.iter().flatten().collect();
        let whole = status.lowest.as_ref().zip(status.highest.as_ref());
        assert_eq!(whole.is_none(), ranges[1].is_none(), "{}", case());
        if let Some((lowest, highest)) = whole {
            let lows = known.iter().map(|range| &range.lowest.order).chain([&lowest.order]);
            assert_eq!(lows.min(), Some(&lowest.order), "{}", case());
            assert!(known.iter().any(|range| range.lowest == *lowest), "{}", case());
            assert!(known.iter().any(|range| range.highest == *highest), "{}", case());
        }
        ends[known.len()] += 1;
    }
    assert!(ends.iter().all(|times| *times > 20), "{ends:?}");
}

/// Evaluates the printed policy as the API server does: may a client create a ConfigMap while a StagedRollout has this
/// status?
fn may_create(rollout: &Rollout, status: &Value) -> Result<(), String> {
    let policy = freeze(rollout, None).unwrap().policy;
    let mut context = Context::default();
    let request = json!({"operation": "CREATE", "namespace": "n", "resource": {"resource": "configmaps", "group": ""}});
    let mut params = json!({"metadata": {"name": "r"}});
    if !status.is_null() {
        params["status"] = status.clone();
    }
    context.add_variable("request", &request).unwrap();
    context.add_variable("params", &params).unwrap();
    context.add_variable("variables", json!({"frozen": false})).unwrap();
    let runs = |expression: &Value| {
        let expression = expression.as_str().unwrap();
        let program = Program::compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
        program.execute(&context).unwrap_or_else(|error| panic!("{expression}: {error}"))
    };
    for validation in policy["spec"]["validations"].as_array().unwrap() {
        match runs(&validation["expression"]) {
            cel::Value::Bool(true) => {}
            cel::Value::Bool(false) => match runs(&validation["messageExpression"]) {
                cel::Value::String(said) => return Err(said.to_string()),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

#[test]
fn gate_waits_for_its_part() {
    let frozen = |part: Option<&str>| {
        let mut freeze = json!({"resources": ["configmaps"], "operations": ["CREATE"], "atLeast": NEW});
        if let Some(part) = part {
            freeze["part"] = json!(part);
        }
        rollout(&json!({"freeze": [freeze]}))
    };
    let (whole, part) = (frozen(None), frozen(Some("control-plane")));
    let (plain, none) = (rollout(&json!({})), Value::Null);
    let [old, new] = [json!(OLD), json!(NEW)];
    let status = |hosts: &[Value]| said(&plain, hosts, &RolloutStatus::default(), true).to_json();
    let before = status(&[host("a", &old, &old), host("b", &none, &old)]);
    let between = status(&[host("a", &new, &old), host("b", &none, &old)]);
    let after = status(&[host("a", &new, &new), host("b", &none, &new)]);
    let unknown = |what: &str| {
        Err(format!(
            "rollout r: configmaps wait until every {what} is at least {NEW}; the lowest running version{} is unknown",
            if what == "object" { String::new() } else { format!(" of {what}") }
        ))
    };
    let waits = |what: &str| unknown(what).map_err(|why: String| why.replace("unknown", OLD));
    for (status, of_all, of_part) in [
        (&before, waits("object"), waits("control-plane")),
        (&between, waits("object"), Ok(())),
        (&after, Ok(()), Ok(())),
        // No list was read; the list was read without support for parts; this part is unknown.
        (&Value::Null, unknown("object"), unknown("control-plane")),
        (&json!({}), unknown("object"), unknown("control-plane")),
        (&json!({"lowest": after["lowest"], "highest": after["highest"]}), Ok(()), unknown("control-plane")),
        (&json!({"parts": {"kubelet": after["parts"]["kubelet"]}}), unknown("object"), unknown("control-plane")),
        (&json!({"parts": {"control-plane": {}}}), unknown("object"), unknown("control-plane")),
    ] {
        assert_eq!(may_create(&whole, status), of_all, "{status:#}");
        assert_eq!(may_create(&part, status), of_part, "{status:#}");
    }
    let frozen: Vec<_> = part.frozen().map(|one| (one.part, one.at_least)).collect();
    assert_eq!(frozen, [(Some("control-plane"), Some(NEW))]);
}

#[test]
fn unknown_part_lists_known_parts() {
    let nameless = include_str!("../../../../tests/data/hosts/hosts.yaml")
        .replace("part: control-plane, ", "")
        .replace("part: kubelet, ", "");
    let crd = include_str!("../../../../tests/data/hosts/hosts.crd.yaml");
    let nameless = Kind::from_crd(&nameless, crd).unwrap();
    for (kind, freeze, said) in [
        (&*HOSTS, json!({"part": "kubelt", "atLeast": NEW}), "part: \"kubelt\" is unknown, did you mean \"kubelet\"?"),
        (&*HOSTS, json!({"part": "engine", "atMost": NEW}), "Known parts: control-plane, kubelet"),
        (&*HOSTS, json!({"part": "kubelet"}), "part: kubelet needs atLeast or atMost"),
        (&nameless, json!({"part": "kubelet", "atLeast": NEW}), "the definition has no such part under `observe`"),
    ] {
        let mut freeze = freeze;
        freeze["resources"] = json!(["configmaps"]);
        let bad = answered(&json!({"freeze": [freeze]}), kind).unwrap_err();
        assert!(bad.contains("freeze: part: ") && bad.contains(said), "{freeze}: {bad}");
    }
    // The form without names keeps its meaning.
    let rollout = answered(&json!({}), &nameless).unwrap();
    let fleet = [host("a", &json!(NEW), &json!(OLD)), host("b", &Value::Null, &json!(OLD))];
    let status = said(&rollout, &fleet, &RolloutStatus::default(), true);
    assert_eq!((span(&status, None).as_deref(), status.parts.len()), (Some("v1.16.4..v1.17.1"), 0));
    assert_eq!((status.to_json().get("parts"), rollout.parts().count()), (None, 0));
}

/// The columns of an object table.
#[test]
fn object_reports_role_and_parts() {
    let rollout = rollout(&json!({}));
    assert!(rollout.knows_roles());
    assert_eq!(rollout.parts().collect::<Vec<_>>(), ["control-plane", "kubelet"]);
    let fleet = seen(&rollout, &[host("a", &json!(NEW), &json!(OLD)), host("b", &Value::Null, &Value::Null)]);
    let told = forecast(&rollout, &RolloutStatus::default(), &fleet, PlanInput::default(), NOW);
    let told: Vec<_> = told.into_iter().map(|one| (one.object.role(), one.parts)).collect();
    let runs = |version: &str| Ok(vec![version.to_owned()]);
    let unknown = Err("status.kubelet is not set".to_owned());
    assert_eq!(
        told,
        [(Some("controller"), vec![runs(NEW), runs(OLD)]), (Some("worker"), vec![Ok(Vec::new()), unknown])]
    );
}

fn api_server(host: &str, image: &str) -> Value {
    let containers = json!([{"name": "proxy", "image": "proxy:v0.1.0"}, {"name": "kube-apiserver", "image": image}]);
    let metadata = json!({"namespace": "kube-system", "name": format!("kube-apiserver-{host}")});
    json!({"metadata": metadata, "spec": {"nodeName": host, "containers": containers}})
}

fn node(host: &str, kubelet: &str) -> Value {
    json!({"metadata": {"name": host}, "status": {"nodeInfo": {"kubeletVersion": kubelet}}})
}

/// The lookup results for these Pods and Nodes, read page by page.
fn answers(lookups: &[LookupRequest], pods: &[Value], nodes: &[Value]) -> LookupResults {
    let mut answers = LookupResults::default();
    let plurals: Vec<&str> = lookups.iter().map(|lookup| &*lookup.plural).collect();
    assert_eq!(plurals, ["pods", "nodes"]);
    assert_eq!(
        (lookups[0].namespace.as_deref(), &lookups[0].wanted),
        (Some("kube-system"), &LookupTarget::Labelled("component=kube-apiserver".to_owned()))
    );
    for (lookup, found) in lookups.iter().zip([pods, nodes]) {
        answers.saw(lookup, &[]);
        found.iter().for_each(|one| answers.saw(lookup, std::slice::from_ref(one)));
    }
    answers
}

#[test]
fn part_versions_follow_references() {
    let rollout = answered(&json!({}), &WATCHED_HOSTS).unwrap();
    let lookups: Vec<LookupRequest> = rollout_lookups(&rollout, &under_way(&[]))
        .into_iter()
        .filter(|lookup| ["pods", "nodes"].contains(&&*lookup.plural) && !lookup.to_string().contains("inventory"))
        .collect();
    // The hosts' own fields are ignored.
    let hosts = ["a", "b", "c", "d"].map(|name| host(name, &json!("v9.9.9"), &json!("v9.9.9")));
    let fleet = seen(&rollout, &hosts);
    let told = |answers: &LookupResults| {
        let facts = PlanInput { consistent: true, answers: answers.clone(), ..PlanInput::default() };
        let all = forecast(&rollout, &RolloutStatus::default(), &fleet, facts.clone(), NOW);
        let status = plan(&rollout, &RolloutStatus::default(), &fleet, facts, NOW).status;
        let spans = ["control-plane", "kubelet"].map(|part| span(&status, Some(part)));
        (all.into_iter().map(|one| one.parts).collect::<Vec<_>>(), spans)
    };
    let (image, runs) = (
        |version: &str| format!("k8s/kube-apiserver:{version}"),
        |all: &[&str]| Ok::<Vec<String>, String>(all.iter().map(|version| (*version).to_owned()).collect()),
    );
    let unknown = |why: &str| Err::<Vec<String>, String>(why.to_owned());
    let pods = [api_server("a", &image(NEW)), api_server("b", &image(OLD)), api_server("b", &image(NEW))];
    let nodes = ["a", "b", "c", "d"].map(|name| node(name, OLD));
    let (all, spans) = told(&answers(&lookups, &pods, &nodes));
    let rows = [runs(&[NEW]), runs(&[OLD, NEW]), runs(&[]), runs(&[])].map(|pods| vec![pods, runs(&[OLD])]);
    assert_eq!(all, rows);
    assert_eq!(spans, [Some("v1.16.4..v1.17.1".to_owned()), Some("v1.16.4..v1.16.4".to_owned())]);
    // A host has no Node, or one of its Pods has no version, even if another Pod of the host has one.
    let silent = |host: &str| api_server(host, "k8s/kube-apiserver");
    let good = |host: &str| api_server(host, &image(NEW));
    let pods = [silent("a"), good("a"), good("b"), silent("b"), json!({"spec": {}})];
    let (all, spans) = told(&answers(&lookups, &pods, &nodes[..3]));
    let pod = "pods kube-system/kube-apiserver-a: image is \"k8s/kube-apiserver\", but its tag is not a version";
    assert_eq!(all[0], [unknown(pod), runs(&[OLD])]);
    assert_eq!(all[1][0], unknown(&pod.replace("apiserver-a", "apiserver-b")));
    assert_eq!(all[3], [runs(&[]), unknown("none of nodes has a version in metadata.name")]);
    assert_eq!(spans, [None, None]);
    let (all, _) = told(&answers(&lookups, &[json!({"spec": {"nodeName": "a"}})], &nodes));
    let pod = "pods an object without a name: spec.containers has no item kube-apiserver";
    assert_eq!(all[0][0], unknown(pod));
    // The lookup was not made or was denied.
    let mut refused = LookupResults::default();
    let why = "pods of kube-system with component=kube-apiserver was not read yet";
    assert_eq!(told(&refused).0[0][0], unknown(why));
    refused.cannot_read(&lookups[0], "forbidden".to_owned());
    let why = "pods of kube-system with component=kube-apiserver cannot be read: forbidden";
    assert_eq!(told(&refused), (vec![vec![unknown(why), unknown("nodes was not read yet")]; 4], [None, None]));
    let role = rollout_roles(&rollout, &WATCHED_HOSTS, OwnerReferences::Free);
    let rule = |plural: &str| role[0]["rules"].as_array().unwrap().iter().find(|rule| rule["resources"][0] == plural);
    assert_eq!(rule("pods").unwrap()["verbs"], json!(["list"]));
}

/// Hosts whose agents report the running version: in the host's namespace, or wherever a reference points.
fn agents(by: &str, namespace: &str, optional: bool) -> Kind {
    let definition = include_str!("../../../../tests/data/hosts/hosts.yaml");
    let (before, after) = definition.split_once("  - {part: control-plane").unwrap();
    let (_, after) = after.split_once("  role:").unwrap();
    let from = format!("from: {{list: agents.example.com, {namespace}by: {by}}}");
    let place = format!("  - {{part: kubelet, {from}, field: spec.version, optional: {optional}}}\n");
    let definition = format!("{before}{place}  role:{after}");
    Kind::from_crd(&definition, include_str!("../../../../tests/data/hosts/hosts.crd.yaml")).unwrap()
}

/// The reported versions of a host by these agents, each with a namespace, a reference to the host and a version.
fn by_agents(kind: &Kind, host: &Value, agents: &[(&str, Value, &str)]) -> Result<Vec<String>, String> {
    let agent = |(namespace, names, version): &(&str, Value, &str)| {
        let mut agent = json!({"metadata": {"name": "some"}, "spec": names});
        agent["spec"]["version"] = json!(version);
        if !namespace.is_empty() {
            agent["metadata"]["namespace"] = json!(namespace);
        }
        agent
    };
    let agents: Vec<Value> = agents.iter().map(agent).collect();
    let said = heard(kind, host, &agents);
    // The list of versions receives the same objects.
    let lookup = RunningVersions::lookups(kind).remove(0);
    let mut answers = LookupResults::default();
    answers.saw(&lookup, &agents);
    let mut running = RunningVersions::with_lookups(kind, answers);
    running.see(host);
    let unread: Vec<&str> = running.shown().iter().map(|one| one.why.as_str()).collect();
    assert_eq!(unread, said.as_ref().err().map(String::as_str).into_iter().collect::<Vec<_>>());
    said
}

/// A name refers to an object in the same namespace, as elsewhere in Kubernetes.
#[test]
fn foreign_reference_is_ignored() {
    let site = host("a", &Value::Null, &Value::Null);
    let runs = |all: &[&str]| Ok::<Vec<String>, String>(all.iter().map(|version| (*version).to_owned()).collect());
    let named = |name: &str| json!({"host": name});
    let kind = agents("spec.host", "", false);
    let all = [("site", named("a"), OLD), ("other", named("a"), NEW), ("site", named("b"), NEW)];
    assert_eq!(by_agents(&kind, &site, &all), runs(&[OLD]));
    // A cluster-scoped object, such as a Node, refers to every host of that name.
    assert_eq!(by_agents(&kind, &site, &[("", named("a"), NEW), all[0].clone()]), runs(&[NEW, OLD]));
    let elsewhere = "none of agents.example.com has a version in spec.host, except in other namespaces: to read these, add `namespace` to `from`";
    assert_eq!(by_agents(&kind, &site, &all[1..]), Err(elsewhere.to_owned()));
    let nobody = "none of agents.example.com has a version in spec.host";
    assert_eq!(by_agents(&kind, &site, &all[2..]), Err(nobody.to_owned()));
    let nothing = Err("none of its fields contains a version".to_owned());
    assert_eq!(by_agents(&agents("spec.host", "", true), &site, &all[1..]), nothing);
    // If the definition fixes the namespace of the lookup, its objects refer to hosts in any namespace.
    let fixed = agents("spec.host", "namespace: other, ", false);
    assert_eq!(by_agents(&fixed, &site, &all[1..]), runs(&[NEW]));
}

#[test]
fn reference_names_kind_and_namespace() {
    let site = host("a", &Value::Null, &Value::Null);
    let runs = |version: &str| Ok::<Vec<String>, String>(vec![version.to_owned()]);
    for namespace in ["", "namespace: other, "] {
        let kind = agents("spec.ref.name", namespace, false);
        for (reference, is_it) in [
            (json!({"name": "a", "namespace": "site"}), true),
            (json!({"name": "a", "namespace": "other"}), false),
            (json!({"name": "a", "namespace": "site", "kind": "Host", "apiVersion": "example.com/v7"}), true),
            (json!({"name": "a", "namespace": "site", "kind": "Host", "apiGroup": "example.com"}), true),
            (json!({"name": "a", "namespace": "site", "kind": "Ship"}), false),
            (json!({"name": "a", "namespace": "site", "kind": "Host", "apiVersion": "v1"}), false),
            (json!({"name": "a", "namespace": "site", "kind": "Host", "apiGroup": "example.org"}), false),
            (json!({"name": "a", "namespace": "site", "group": "example.org"}), false),
            (json!({"name": "", "namespace": "site"}), false),
            (json!({"name": 7, "namespace": "site"}), false),
        ] {
            let said = by_agents(&kind, &site, &[("other", json!({"ref": reference}), NEW)]);
            assert_eq!(said == runs(NEW), is_it, "{reference}: {said:?}");
        }
    }
}

/// For any agents in any order and with repeats: a host's versions are those of its own agents. If one of them has no
/// version, the host's version is unknown.
#[test]
fn reference_counts_for_its_target() {
    let (mut known, mut unknown, mut none) = (0, 0, 0);
    for seed in 0..500 {
        let mut random = Random::new(seed);
        let (refers, fixed) = (random.percent(50), random.percent(30));
        let by = if refers { "spec.ref.name" } else { "spec.host" };
        let optional = random.percent(50);
        let kind = agents(by, if fixed { "namespace: other, " } else { "" }, optional);
        let mut host = host("a", &Value::Null, &Value::Null);
        host["metadata"]["namespace"] = json!(random.word(&["site", "other"]));
        let mut all = Vec::new();
        for _ in 0..random.below(7) {
            all.push(agent_by_chance(&mut random, refers));
        }
        let meant: Vec<&Value> = all
            .iter()
            .filter(|agent| is_about(agent, &host, refers, fixed))
            .map(|agent| &agent["spec"]["version"])
            .collect();
        let is_version = |version: &Value| [OLD, NEW].iter().any(|known| version == known);
        let mut wanted: Vec<&str> = meant.iter().filter_map(|version| version.as_str()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let is_known = meant.iter().all(|version| is_version(version)) && !meant.is_empty();
        let mut told = all.clone();
        for _ in 0..3 {
            // An agent is listed twice, and in another order.
            let (twice, at) = (random.pick(&told).cloned(), random.below(told.len().max(1)));
            told.rotate_left(at);
            told.extend(twice);
            let said = heard(&kind, &host, &told);
            let case = || format!("seed {seed}: {by} fixed {fixed}: {host} {told:#?}: {said:?}");
            match &said {
                Ok(versions) => {
                    let mut versions: Vec<&str> = versions.iter().map(String::as_str).collect();
                    versions.sort_unstable();
                    assert!(is_known && versions == wanted, "{}", case());
                    known += 1;
                }
                Err(why) if meant.is_empty() => {
                    let silent =
                        if optional { "none of its fields contains a version" } else { "none of agents.example.com" };
                    assert!(why.starts_with(silent), "{}", case());
                    none += 1;
                }
                Err(why) => {
                    assert!(!is_known && why.starts_with("agents.example.com "), "{}", case());
                    unknown += 1;
                }
            }
        }
    }
    assert!(known > 50 && unknown > 50 && none > 50, "{known} {unknown} {none}");
}

/// True if an agent refers to the host by the rules of Kubernetes names and references. `fixed`: only one namespace is
/// listed.
fn is_about(agent: &Value, host: &Value, refers: bool, fixed: bool) -> bool {
    let namespace = agent["metadata"]["namespace"].as_str().filter(|_| !fixed);
    let (name, meant) = if refers {
        let reference = &agent["spec"]["ref"];
        let is_host = reference["kind"].as_str().is_none_or(|kind| kind == "Host")
            && reference["apiGroup"].as_str().is_none_or(|group| group == "example.com");
        let name = if is_host { &reference["name"] } else { &Value::Null };
        (name, reference["namespace"].as_str().or(namespace))
    } else {
        (&agent["spec"]["host"], namespace)
    };
    name == "a" && meant.is_none_or(|meant| host["metadata"]["namespace"] == meant)
}

fn agent_by_chance(random: &mut Random, refers: bool) -> Value {
    let names = [json!("a"), json!("a"), json!("b"), json!(""), json!(7), Value::Null, json!(["a"])];
    let versions = [json!(OLD), json!(NEW), json!(OLD), json!(NEW), json!("latest"), json!(""), json!(5), Value::Null];
    let name = random.pick(&names).unwrap().clone();
    let mut agent = json!({"metadata": {"name": "x"}, "spec": {"version": random.pick(&versions).unwrap()}});
    if random.percent(80) {
        agent["metadata"]["namespace"] = json!(random.word(&["site", "other"]));
    }
    if !refers {
        agent["spec"]["host"] = name;
        return agent;
    }
    let mut reference = json!({"name": name});
    for (member, values) in
        [("kind", ["Host", "Ship"]), ("apiGroup", ["example.com", "example.org"]), ("namespace", ["site", "other"])]
    {
        if random.percent(40) {
            reference[member] = json!(values[usize::from(random.percent(30))]);
        }
    }
    agent["spec"]["ref"] = reference;
    agent
}

/// The versions of a host by these agents, read one per page.
fn heard(kind: &Kind, host: &Value, agents: &[Value]) -> Result<Vec<String>, String> {
    let lookup = RunningVersions::lookups(kind).remove(0);
    let mut answers = LookupResults::default();
    answers.saw(&lookup, &[]);
    agents.iter().for_each(|agent| answers.saw(&lookup, std::slice::from_ref(agent)));
    let rollout = answered(&json!({}), kind).unwrap();
    let fleet = seen(&rollout, std::slice::from_ref(host));
    let facts = PlanInput { consistent: true, answers, ..PlanInput::default() };
    forecast(&rollout, &RolloutStatus::default(), &fleet, facts, NOW).remove(0).parts.remove(0)
}

/// All lookups share one state.
#[test]
fn version_state_uses_other_objects() {
    let kind = &*WATCHED_HOSTS;
    let lookups = RunningVersions::lookups(kind);
    let told = |pods: &[Value], nodes: &[Value]| {
        let mut running = RunningVersions::with_lookups(kind, answers(&lookups, pods, nodes));
        ["a", "b"].iter().for_each(|name| running.see(&host(name, &json!("v9.9.9"), &json!("v9.9.9"))));
        let states = running.statuses(&[]).into_iter().map(|one| format!("{} {}", one.version, one.state.word()));
        (states.take(2).collect::<Vec<_>>(), running.unread())
    };
    let states = |all: [&str; 2]| all.map(str::to_owned).to_vec();
    let (pods, nodes) = ([api_server("a", "api:v1.16.4")], ["a", "b"].map(|name| node(name, OLD)));
    assert_eq!(told(&pods, &nodes), (states(["v1.16.4 active", "v1.17.1 available"]), 0));
    let newer = [api_server("a", "api:v1.17.1")];
    assert_eq!(told(&newer, &nodes), (states(["v1.16.4 partial", "v1.17.1 partial"]), 0));
    assert_eq!(told(&pods, &nodes[..1]), (states(["v1.16.4 partial", "v1.17.1 unavailable"]), 1));
    let mut unasked = RunningVersions::new(kind);
    unasked.see(&host("a", &json!(OLD), &json!(OLD)));
    assert!(
        unasked.shown()[0].why.starts_with("pods of kube-system with component=kube-apiserver was not read yet"),
        "{:?}",
        unasked.shown()
    );
}
