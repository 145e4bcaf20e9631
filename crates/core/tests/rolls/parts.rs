//! Parts of an object that run a version each: what is said of them, and what is bound to one of them.

use std::sync::LazyLock;

use cel::{Context, Program};
use pointsman_core::definition::Kind;
use pointsman_core::laws::Random;
use pointsman_core::registration::freeze;
use pointsman_core::roll::{FleetObject, FleetRoll, RollFacts, RollStatus, answered_roll, forecast, plan};
use serde_json::{Value, json};

use crate::patches::NOW;

/// Hosts, of which some have a control plane, and all a kubelet.
static HOSTS: LazyLock<Kind> = LazyLock::new(|| {
    let definition = include_str!("../../../../tests/data/hosts/hosts.yaml");
    Kind::from_crd(definition, include_str!("../../../../tests/data/hosts/hosts.crd.yaml")).unwrap()
});

const OLD: &str = "v1.16.4";
const NEW: &str = "v1.17.1";

fn answered(more: &Value, kind: &Kind) -> Result<FleetRoll, String> {
    let mut spec = json!({
        "kind": "host", "journey": "kubelet", "from": OLD, "to": NEW, "waves": [{"name": "all", "atOnce": 2}],
        "accept": ["no-way-back"],
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let metadata = json!({"name": "r", "uid": "roll-1"});
    let document = json!({"apiVersion": "pointsman.dev/v1", "kind": "Roll", "metadata": metadata, "spec": spec});
    answered_roll(&document, kind).map_err(|bad| bad.to_string())
}

fn roll(more: &Value) -> FleetRoll {
    answered(more, &HOSTS).unwrap()
}

/// A host with what runs of it; a control plane that is null is not there.
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

fn seen(roll: &FleetRoll, hosts: &[Value]) -> Vec<FleetObject> {
    hosts.iter().map(|host| FleetObject::of(host, roll).unwrap()).collect()
}

/// The status that a plan would write.
fn said(roll: &FleetRoll, hosts: &[Value], before: &RollStatus, consistent: bool) -> RollStatus {
    // Nothing is moved: what is said is about what is seen.
    let facts = RollFacts { consistent, shut: Some("shut".to_owned()), ..RollFacts::default() };
    plan(roll, before, &seen(roll, hosts), facts, NOW).status
}

/// From the lowest to the highest version of a part, or of all; nothing where nobody knows.
fn span(status: &RollStatus, part: Option<&str>) -> Option<String> {
    let (lowest, highest) = match part {
        None => status.lowest.as_ref().zip(status.highest.as_ref())?,
        Some(part) => status.parts.get(part).map(|range| (&range.lowest, &range.highest))?,
    };
    Some(format!("{}..{}", lowest.version, highest.version))
}

fn under_way(names: &[&str]) -> RollStatus {
    let since = "2026-11-18T11:06:40Z";
    let reserved: Vec<Value> = names
        .iter()
        .map(
            |name| json!({"object": format!("site/{name}"), "uid": format!("u-{name}"), "since": since, "wave": "all"}),
        )
        .collect();
    RollStatus::of(&json!({"status": {"phase": "Rolling", "started": since, "reserved": reserved}}))
}

#[test]
fn what_runs_of_each_part_is_said_as_far_as_it_is_certain() {
    let (roll, fresh, none) = (roll(&json!({})), RollStatus::default(), Value::Null);
    let [old, new] = [json!(OLD), json!(NEW)];
    let told = |hosts: &[Value], before: &RollStatus, consistent: bool| {
        let status = said(&roll, hosts, before, consistent);
        [span(&status, Some("control-plane")), span(&status, Some("kubelet")), span(&status, None)]
    };
    let is = |spans: [&str; 3]| spans.map(|span| Some(span.to_owned()).filter(|span| !span.is_empty()));
    let both = "v1.16.4..v1.17.1";
    let masters = [host("a", &new, &old), host("b", &new, &old), host("c", &none, &old)];
    assert_eq!(told(&masters, &fresh, true), is(["v1.17.1..v1.17.1", "v1.16.4..v1.16.4", both]));
    // Nobody has a control plane: nothing is known of it.
    assert_eq!(told(&masters[2..], &fresh, true), is(["", "v1.16.4..v1.16.4", "v1.16.4..v1.16.4"]));
    // Of one kubelet nobody knows: what is known of the control planes counts all the same.
    let dumb = [masters[0].clone(), host("d", &none, &none)];
    assert_eq!(told(&dumb, &fresh, true), is(["v1.17.1..v1.17.1", "", ""]));
    let odd = [masters[0].clone(), host("d", &json!("latest"), &new)];
    assert_eq!(told(&odd, &fresh, true), is(["", both, ""]));
    // A journey may be about any part of a host, and about none that the host has not.
    assert_eq!(told(&masters, &under_way(&["c"]), true), is(["v1.17.1..v1.17.1", both, both]));
    assert_eq!(told(&masters, &under_way(&["a"]), true), is([both, both, both]));
    // A cache may not know of one that came.
    assert_eq!(told(&masters, &fresh, false), is(["", "", ""]));
    let known = said(&roll, &[host("a", &old, &old)], &fresh, true);
    assert_eq!(told(&masters, &known, false), is([both, "v1.16.4..v1.16.4", both]));
    assert_eq!(told(&masters, &known, true), is(["v1.17.1..v1.17.1", "v1.16.4..v1.16.4", both]));
}

/// Whatever runs: all of it is from the lowest of its parts to the highest, and what is known of no part is not known.
/// What is seen, and what may be under way, is never outside.
#[test]
fn all_that_runs_is_from_the_lowest_of_its_parts_to_the_highest() {
    let (roll, versions) = (roll(&json!({})), [json!("v1.15.0"), json!(OLD), json!(NEW), json!("v1.18.1")]);
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
        let status = said(&roll, &hosts, &under_way(&busy), true);
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

/// Whether a ConfigMap may be created while a Roll has this status, as the API server evaluates what is printed.
fn may_create(roll: &FleetRoll, status: &Value) -> Result<(), String> {
    let policy = freeze(roll, None).unwrap().policy;
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
fn what_is_bound_to_a_part_waits_for_that_part_alone() {
    let frozen = |part: Option<&str>| {
        let mut freeze = json!({"resources": ["configmaps"], "operations": ["CREATE"], "atLeast": NEW});
        if let Some(part) = part {
            freeze["part"] = json!(part);
        }
        roll(&json!({"freeze": [freeze]}))
    };
    let (whole, part) = (frozen(None), frozen(Some("control-plane")));
    let (plain, none) = (roll(&json!({})), Value::Null);
    let [old, new] = [json!(OLD), json!(NEW)];
    let status = |hosts: &[Value]| said(&plain, hosts, &RollStatus::default(), true).to_json();
    let before = status(&[host("a", &old, &old), host("b", &none, &old)]);
    let between = status(&[host("a", &new, &old), host("b", &none, &old)]);
    let after = status(&[host("a", &new, &new), host("b", &none, &new)]);
    let unknown = |what: &str| {
        Err(format!(
            "roll r: configmaps wait until every {what} is at least {NEW}; the lowest version{} that runs is not known",
            if what == "object" { String::new() } else { format!(" of {what}") }
        ))
    };
    let waits = |what: &str| unknown(what).map_err(|why: String| why.replace("not known", OLD));
    for (status, of_all, of_part) in [
        (&before, waits("object"), waits("control-plane")),
        (&between, waits("object"), Ok(())),
        (&after, Ok(()), Ok(())),
        // Nobody has looked; somebody has who knew no parts; and it is not known of this one.
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
fn a_part_that_is_not_there_is_refused_with_those_that_are() {
    let nameless = include_str!("../../../../tests/data/hosts/hosts.yaml")
        .replace("part: control-plane, ", "")
        .replace("part: kubelet, ", "");
    let crd = include_str!("../../../../tests/data/hosts/hosts.crd.yaml");
    let nameless = Kind::from_crd(&nameless, crd).unwrap();
    for (kind, freeze, said) in [
        (
            &*HOSTS,
            json!({"part": "kubelt", "atLeast": NEW}),
            "part: \"kubelt\" is not known, did you mean \"kubelet\"?",
        ),
        (&*HOSTS, json!({"part": "engine", "atMost": NEW}), "Known here: control-plane, kubelet"),
        (&*HOSTS, json!({"part": "kubelet"}), "part: kubelet goes with atLeast or atMost"),
        (
            &nameless,
            json!({"part": "kubelet", "atLeast": NEW}),
            "the definition names no parts of what this roll moves",
        ),
    ] {
        let mut freeze = freeze;
        freeze["resources"] = json!(["configmaps"]);
        let bad = answered(&json!({"freeze": [freeze]}), kind).unwrap_err();
        assert!(bad.contains("freeze: part: ") && bad.contains(said), "{freeze}: {bad}");
    }
    // The form without names means what it meant.
    let roll = answered(&json!({}), &nameless).unwrap();
    let fleet = [host("a", &json!(NEW), &json!(OLD)), host("b", &Value::Null, &json!(OLD))];
    let status = said(&roll, &fleet, &RollStatus::default(), true);
    assert_eq!((span(&status, None).as_deref(), status.parts.len()), (Some("v1.16.4..v1.17.1"), 0));
    assert_eq!((status.to_json().get("parts"), roll.parts().count()), (None, 0));
}

/// What a table of the objects is made of.
#[test]
fn an_object_says_its_role_and_what_runs_of_its_parts() {
    let roll = roll(&json!({}));
    assert!(roll.knows_roles());
    assert_eq!(roll.parts().collect::<Vec<_>>(), ["control-plane", "kubelet"]);
    let fleet = seen(&roll, &[host("a", &json!(NEW), &json!(OLD)), host("b", &Value::Null, &Value::Null)]);
    let told = forecast(&roll, &RollStatus::default(), &fleet, RollFacts::default(), NOW);
    let told: Vec<_> = told.into_iter().map(|one| (one.object.role(), one.parts)).collect();
    let runs = |version: &str| Ok(vec![version.to_owned()]);
    let unknown = Err("status.kubelet is not set".to_owned());
    assert_eq!(
        told,
        [(Some("controller"), vec![runs(NEW), runs(OLD)]), (Some("worker"), vec![Ok(Vec::new()), unknown])]
    );
}
