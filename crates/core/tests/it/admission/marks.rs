//! The rollout annotation of a moved object: writes by clients that do not know the annotation keep it, and the rollout
//! itself may remove it.

use pointsman_core::definition::ROLLOUT_MANAGER;
use pointsman_core::webhook::{Endpoint, Settings, Webhook};
use serde_json::{Value, json};

use super::apiserver::{Answer, ask, review};
use super::objects::{Random, cases};
use super::{gadget, load, serving};

const MARK: &str = "pointsman.dev/rollout";
const LABEL: &str = "example.com/managed-by-version";
const TEXT: &str =
    r#"{"rollout":"1b4e28ba-2fa1-11d2-883f-0016d3cca427","was":"2.16.0","to":"2.17.0","at":"2026-11-20T10:00:00Z"}"#;

/// Servers of both versions, one of them the default, and one of no version.
fn servers() -> [Webhook; 3] {
    let server = |version, default| serving(load("gadgets.yaml"), version, Settings { default, ..Settings::default() });
    [server(Some("2.16.0"), true), server(Some("2.17.0"), false), server(None, false)]
}

/// The webhook's response to an update by a field manager.
fn updated(webhook: &Webhook, old: &Value, new: &Value, manager: &str) -> Answer {
    let mut request = review("UPDATE", Some(old), Some(new));
    if !manager.is_empty() {
        let options = json!({"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": manager});
        request["request"]["options"] = options;
    }
    ask(webhook, Endpoint::Mutate, &request)
}

fn object(annotations: &Value, labels: &Value) -> Value {
    let mut object = gadget("v1", &json!({"copies": 2}));
    for (name, map) in [("annotations", annotations), ("labels", labels)] {
        if !map.is_null() {
            object["metadata"][name] = map.clone();
        }
    }
    object
}

fn mark(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][MARK].as_str()
}

/// The object as if no rollout had ever changed it.
fn unmarked(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove(MARK);
    }
    let members = object["metadata"].as_object_mut().unwrap();
    // Absent, null and empty maps are equal to an API server.
    members.retain(|_, member| !member.is_null() && !member.as_object().is_some_and(serde_json::Map::is_empty));
    object
}

fn random_write(random: &mut Random) -> (Value, Value) {
    let labels = [Value::Null, json!({"app": "x"}), json!({LABEL: "2.16.0"}), json!({LABEL: "2.17.0", "app": "x"})];
    let kept = [json!({}), json!({"note": "x"})];
    let before = [Some(TEXT), Some(TEXT), Some(TEXT), None, Some("mine"), Some("")];
    let mut old = random.pick(&kept).clone();
    if let Some(text) = random.pick(&before) {
        old[MARK] = json!(text);
    }
    let after = match random.next() % 8 {
        0..3 => Value::Null,
        3 => json!({"other": "y"}),
        4 => json!({MARK: null}),
        5 => json!({MARK: TEXT.replace("2.17.0", "2.18.0")}),
        6 => json!({MARK: ""}),
        _ => old.clone(),
    };
    (object(&old, random.pick(&labels)), object(&after, random.pick(&labels)))
}

#[test]
fn only_the_runner_removes_marks() {
    let servers = servers();
    let (mut put_back, mut taken_off, mut left) = (0, 0, 0);
    for case in 0..cases(3_000) {
        let random = &mut Random::new(case);
        let (old, new) = random_write(random);
        let manager = *random.pick(&["", "kubectl-replace", "helm", ROLLOUT_MANAGER]);
        let server = random.pick(&servers);
        let answer = updated(server, &old, &new, manager);
        let is_lost = mark(&old) == Some(TEXT) && mark(&new).is_none();
        let wanted = if is_lost && manager != ROLLOUT_MANAGER { Some(TEXT) } else { mark(&new) };
        assert_eq!(mark(&answer.patched), wanted, "case {case}: {old} {new} by {manager:?}");
        let told = answer.warnings.iter().filter(|warning| warning.contains(MARK)).count();
        assert_eq!(told, usize::from(wanted != mark(&new)), "case {case}: {:?}", answer.warnings);
        match (is_lost, wanted) {
            (true, Some(_)) => put_back += 1,
            (true, None) => taken_off += 1,
            (false, _) => left += 1,
        }
        // No other result depends on the annotation. Repeated calls, or calls of several servers in any order, have the
        // same result as one.
        let plain = updated(server, &unmarked(&old), &unmarked(&new), manager);
        assert_eq!(unmarked(&answer.patched), unmarked(&plain.patched), "case {case}");
        for another in &servers {
            let again = updated(another, &old, &answer.patched, manager);
            assert_eq!(mark(&again.patched), wanted, "case {case}");
        }
        assert!(updated(server, &old, &answer.patched, manager).patch.is_empty(), "case {case}");
    }
    assert!(put_back > 100 && taken_off > 30 && left > 100, "{put_back} {taken_off} {left}");
}

#[test]
fn dropped_mark_names_its_owner() {
    let [_, server, _] = servers();
    let old = object(&json!({MARK: TEXT}), &json!({LABEL: "2.17.0"}));
    let new = object(&Value::Null, &json!({LABEL: "2.16.0"}));
    let answer = updated(&server, &old, &new, "kubectl-replace");
    assert_eq!(answer.patched["metadata"]["annotations"], json!({MARK: TEXT}));
    assert_eq!(answer.patched["metadata"]["labels"], json!({LABEL: "2.16.0"}), "the label is theirs to set");
    assert_eq!(
        answer.warnings,
        [
            "annotation pointsman.dev/rollout was restored: a rollout has moved this object and needs the annotation for an undo. To remove the annotation, use pointsman rollout clean",
        ]
    );
    // A recreated object was never moved.
    let created = ask(&server, Endpoint::Mutate, &review("CREATE", None, Some(&new)));
    assert_eq!(mark(&created.patched), None);
}
