//! Refused definitions of hand-over workflows, each with a hint.

use pointsman_core::definition::Kind;
use pointsman_rollout::check_definition;
use serde_json::{Value, json};

use super::garden::example;

/// The error for a workflow with one step.
fn told(step: &Value) -> String {
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: clusters.crd.yaml\nhealth: {{none: [{{field: \
         spec.shoot.broken, is: true}}]}}\nworkflows: {}\n",
        json!({"j": [step]})
    );
    let kind = Kind::from_crd(&definition, &example("clusters.crd")).unwrap();
    check_definition(&kind).err().map(|bad| bad.to_string()).unwrap_or_default()
}

fn with(mut step: Value, name: &str, value: Value) -> Value {
    step[name] = value;
    step
}

#[test]
fn list_steps_need_all_fields() {
    let wait = || json!({"list": "nodes", "every": {"field": "status.phase", "is": "Ready"}});
    let delete = || json!({"resource": "storageclasses.storage.k8s.io", "names": ["a"]});
    let readmit = || json!({"resource": "deployments.apps", "names": ["a"], "namespace": "{name}", "mutation": "csi"});
    let of = |word: &str, act: Value| json!({word: act, "irreversible": "it is for good"});
    let elsewhere = || json!({"cluster": {"secret": "a", "namespace": "{name}"}});
    for step in [
        json!({"wait": wait()}),
        json!({"wait": with(wait(), "on", elsewhere()), "ifAny": {"list": "nodes"}}),
        of("delete", delete()),
        of("delete", with(with(delete(), "on", elsewhere()), "when", json!({"field": "provisioner", "is": "x"}))),
        of("readmit", readmit()),
    ] {
        assert_eq!(told(&step), "", "{step}");
    }
    let cluster = |secret: Value| json!({"cluster": secret});
    for (step, why) in [
        (json!({"wait": {"list": "nodes"}}), "a `list` needs `every`"),
        (json!({"wait": {"every": {"field": "a", "is": "b"}}}), "need a `list`"),
        (json!({"wait": with(wait(), "on", json!("source"))}), "need a `list`; `list` excludes an object"),
        (json!({"wait": with(wait(), "until", json!({"field": "a", "is": "b"}))}), "no `until` or `rolledOut`"),
        (json!({"wait": with(wait(), "list", json!("Nodes"))}), "wait: list: "),
        (json!({"wait": with(wait(), "namespace", json!("a.b"))}), "is no name of a namespace"),
        (json!({"wait": with(wait(), "on", cluster(json!({"secret": "A", "namespace": "a"})))}), "on.cluster: "),
        (
            json!({"wait": with(wait(), "on", cluster(json!({"secret": "a", "namespace": "a", "key": "/"})))}),
            "is no key of a Secret",
        ),
        (json!({"wait": with(wait(), "every", json!({"field": "a"}))}), "wait.every: "),
        (json!({"delete": delete()}), "set `irreversible`"),
        (of("delete", with(delete(), "names", json!(["a", "a"]))), "named twice"),
        (of("delete", with(delete(), "labels", json!("a={name}"))), "excludes `labels`"),
        (of("delete", with(delete(), "on", json!("source"))), "excludes `labels`, `madeAgain` and `on: source`"),
        (of("delete", json!({"names": ["a"]})), "of which `resource`?"),
        (of("delete", json!({"on": elsewhere()})), "need `names`"),
        (json!({"readmit": readmit()}), "a mutation cannot be undone"),
        (of("readmit", with(readmit(), "names", json!([]))), "names no object"),
        (of("readmit", with(readmit(), "mutation", json!("A"))), "is no name of a mutation"),
        (of("readmit", with(readmit(), "timeout", json!("soon"))), "is not a duration"),
        (json!({"set": {"fields": {"metadata.labels[\"a\"]": "b"}}, "ifAny": {"list": "nodes"}}), "`ifAny` is for"),
        (json!({"wait": wait(), "ifAny": {"list": "Nodes"}}), "ifAny: list: "),
        (json!({"wait": wait(), "delete": delete()}), "a step needs one of"),
        (json!({"wait": with(wait(), "on", json!({"elsewhere": 1}))}), "takes source, target, an object"),
    ] {
        let told = told(&step);
        assert!(told.contains(why), "{step}: {told}");
    }
}
