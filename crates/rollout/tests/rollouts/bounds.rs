//! The CRD of StagedRollouts and the parser enforce the same bounds: every StagedRollout that an API server has stored
//! must be readable.

use std::sync::LazyLock;

use cel::{Context, Program};
use pointsman_core::definition::Kind;
use pointsman_rollout::{FleetObject, PlanInput, ROLLOUT_CRD, RolloutPhase, RolloutStatus, answered_rollout, plan};
use serde_json::{Map, Value, json};

use crate::kinds::{define, rollout_of};
use crate::patches::{NOW, database};

/// A kind without own bounds on a StagedRollout.
static KIND: LazyLock<Kind> =
    LazyLock::new(|| define("health: {all: [{condition: Ready}], settle: 0s, seen: {manager: databaser}}\n").unwrap());

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let crd: Value = serde_saphyr::from_multiple(ROLLOUT_CRD).unwrap().remove(0);
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
});

fn judges(expression: &str, value: &Value) -> bool {
    let mut context = Context::default();
    context.add_variable("self", value).unwrap();
    let program = Program::compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    match program.execute(&context).unwrap_or_else(|error| panic!("{expression}: {error}")) {
        cel::Value::Bool(holds) => holds,
        other => panic!("{expression}: {other:?}"),
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    judges(&format!("self.matches(r'{pattern}')"), &json!(text))
}

/// True if a schema of StagedRollouts accepts a value. tests/cluster/rollouts/bounds.rs checks that the API server
/// agrees.
fn takes(schema: &Value, value: &Value) -> bool {
    let number = |name: &str| schema[name].as_f64();
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    let rules = rules.filter_map(|rule| rule["rule"].as_str()).filter(|rule| !rule.contains("oldSelf"));
    let is_of_type = match schema["type"].as_str() {
        Some("integer") => value.is_i64(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        None if schema["x-kubernetes-int-or-string"] == true => value.is_i64() || value.is_string(),
        _ => true,
    };
    let is_bounded = match value {
        Value::Number(number_) => {
            let value = number_.as_f64().unwrap();
            number("minimum").is_none_or(|least| value >= least) && number("maximum").is_none_or(|most| value <= most)
        }
        Value::String(text) => {
            let length = text.chars().count() as f64;
            number("maxLength").is_none_or(|most| length <= most)
                && number("minLength").is_none_or(|least| length >= least)
                && schema["pattern"].as_str().is_none_or(|pattern| matches(pattern, text))
                && schema["enum"].as_array().is_none_or(|all| all.contains(value))
        }
        Value::Array(items) => {
            let length = items.len() as f64;
            number("maxItems").is_none_or(|most| length <= most)
                && number("minItems").is_none_or(|least| length >= least)
                && items.iter().all(|item| takes(&schema["items"], item))
        }
        Value::Object(members) => takes_members(schema, members),
        _ => true,
    };
    is_of_type && is_bounded && rules.into_iter().all(|rule| judges(rule, value))
}

fn takes_members(schema: &Value, members: &Map<String, Value>) -> bool {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let of = |name: &str| schema["properties"].get(name);
    required.into_iter().all(|name| members.contains_key(name))
        && members.iter().all(|(name, value)| of(name).is_none_or(|schema| takes(schema, value)))
}

/// A number in braces is replaced by as many letters.
fn filled(text: &str) -> String {
    let lengths = [63, 64, 200, 201, 253, 254];
    lengths.iter().fold(text.to_owned(), |text, length| text.replace(&format!("{{{length}}}"), &"a".repeat(*length)))
}

/// Returns the document, and each listed value with its path and whether the schema accepts the value there.
fn bounds() -> (Value, Vec<(String, Value, bool)>) {
    let text = filled(include_str!("../../../../tests/data/rollout_bounds.yaml"));
    let mut document: Value = serde_saphyr::from_str(&text).unwrap();
    let mut all = Vec::new();
    for place in document["places"].as_array().unwrap() {
        let at = place["at"].as_str().unwrap();
        for (word, takes) in [("takes", true), ("refuses", false)] {
            let values = place[word].as_array().unwrap();
            all.extend(values.iter().map(|value| (at.to_owned(), value.clone(), takes)));
        }
    }
    (document["rollout"].take(), all)
}

#[test]
fn accepted_documents_are_readable() {
    let (rollout, all) = bounds();
    let read = |rollout: &Value| answered_rollout(rollout, &KIND).map(drop).map_err(|bad| bad.to_string());
    assert_eq!((takes(&SCHEMA, &rollout), read(&rollout)), (true, Ok(())));
    for (place, value, is_fine) in all {
        let mut rollout = rollout.clone();
        *rollout.pointer_mut(&place).unwrap() = value.clone();
        let (taken, read) = (takes(&SCHEMA, &rollout), read(&rollout));
        assert_eq!((taken, read.is_ok()), (is_fine, is_fine), "{place}: {value}: {read:?}");
    }
}

/// An error that no schema detects is reported in the status, also in flight, so that the status is not outdated.
#[test]
fn unreadable_rollout_reports_until_repaired() {
    let members = json!({"waves": [{"name": "all"}]});
    let fleet = [FleetObject::of(
        &database(json!({"labels": {"example.com/controller-version": "2.16.0"}})),
        &rollout_of(&members),
    )
    .unwrap()];
    let planned = |status: &RolloutStatus| {
        plan(&rollout_of(&members), status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, NOW).status
    };
    let status = planned(&RolloutStatus::default());
    assert_eq!((status.phase, status.in_flight.len()), (RolloutPhase::Rolling, 1));
    let (mut document, _) = bounds();
    document["spec"]["order"] = json!({"by": "spec.nothing"});
    document["spec"]["waves"][0]["after"] = json!({"wait": "soon"});
    let bad = answered_rollout(&document, &KIND).unwrap_err();
    let told = status.unreadable(&bad, NOW).unwrap();
    assert_eq!((told.phase, told.reason.as_deref()), (RolloutPhase::Paused, Some("Unreadable")));
    assert!(told.is_unreadable() && !status.is_unreadable());
    for said in [
        "after: wait: \"soon\" is not a duration",
        "; ",
        "order.by: database has no field",
        "the rollout continues automatically",
    ] {
        assert!(told.message.contains(said), "{said}: {}", told.message);
    }
    assert_eq!(told.message.lines().count(), 1, "{}", told.message);
    assert_eq!((&told.in_flight, &told.counts), (&status.in_flight, &status.counts));
    assert_eq!(planned(&told), status, "mended");
    let over = RolloutStatus { phase: RolloutPhase::Complete, ..status };
    for other in [RolloutStatus::default(), over] {
        assert_eq!(other.unreadable(&bad, NOW), None, "nothing is under way: {other:?}");
    }
}
