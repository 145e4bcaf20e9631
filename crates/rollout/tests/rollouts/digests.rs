//! The hash of the actions of a rollout's waves. The hash is computed from words, so that another program version
//! computes the same hash.

use std::collections::BTreeMap;

use pointsman_core::definition::Kind;
use pointsman_rollout::{
    ClockReading, PlanInput, Rollout, RolloutPhase, RolloutStatus, plan, read_rollout, rfc3339, steps_not_compared,
};
use serde_json::{Value, json};

const DEFINITION: &str = include_str!("../../../../examples/kinds/mattermost/mattermost.yaml");
const CRD: &str = include_str!("../../../../examples/kinds/mattermost/mattermosts.crd.yaml");
const SOURCE: &str = include_str!("../../../../examples/kinds/mattermost/clusterinstallations.crd.yaml");
const NOW: ClockReading = ClockReading { wall: 1_795_171_720, steady: std::time::Duration::from_secs(60) };

const ROLLOUT: &str = "\
apiVersion: pointsman.dev/v1
kind: StagedRollout
metadata: {name: migrate}
spec:
  kind: mattermost
  workflow: migrate
  from: v1alpha1
  to: v1beta1
  acceptedRisks: [no-way-back, old-object, announce]
  waves:
  - name: announce
    run:
      job: {template: kube-system/announce, env: {TO: \"{to}\"}, timeout: 5m}
      irreversible: a mail is not taken back
  - {name: rest, maxInFlight: 5}
";

fn kind(definition: &str) -> Option<Kind> {
    let mut file = |name: &str| match name {
        "mattermosts.crd.yaml" => Ok(CRD.to_owned()),
        "clusterinstallations.crd.yaml" => Ok(SOURCE.to_owned()),
        other => Err(std::io::Error::other(other.to_owned())),
    };
    Kind::load("mattermost.yaml", definition, &mut file).ok()
}

/// The status of a running rollout after a plan over an empty fleet.
fn planned(rollout: &Rollout, steps: Option<&str>) -> RolloutStatus {
    let before = RolloutStatus {
        started: Some(rfc3339(NOW.wall - 60)),
        phase: RolloutPhase::Rolling,
        steps: steps.map(str::to_owned),
        ..RolloutStatus::default()
    };
    plan(rollout, &before, &[], PlanInput { consistent: true, ..PlanInput::default() }, NOW).status
}

fn digest(definition: &str, rollout: &str) -> Option<String> {
    let rollout = read_rollout("rollout.yaml", rollout, &kind(definition)?).ok()?;
    planned(&rollout, None).steps
}

/// All variants of a document with one word changed, each with the path of the change.
fn changed(document: &Value, at: &str) -> Vec<(String, Value)> {
    match document {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| {
                let inside = changed(value, &format!("{at}.{name}")).into_iter().map(|(place, value)| {
                    let mut whole = members.clone();
                    whole.insert(name.clone(), value);
                    (place, Value::Object(whole))
                });
                let mut renamed = members.clone();
                renamed.remove(name);
                let mut without = vec![(format!("{at} without {name}"), Value::Object(renamed.clone()))];
                renamed.insert(format!("{name}x"), value.clone());
                without.push((format!("{at} with {name}x"), Value::Object(renamed)));
                inside.chain(without).collect::<Vec<_>>()
            })
            .collect(),
        Value::Array(items) => (0..items.len())
            .flat_map(|index| {
                let inside =
                    changed(&items[index], &format!("{at}[{index}]")).into_iter().map(move |(place, value)| {
                        let mut whole = items.clone();
                        whole[index] = value;
                        (place, Value::Array(whole))
                    });
                let mut without = items.clone();
                without.remove(index);
                let mut turned = items.clone();
                turned.rotate_left(1);
                let others = [
                    (format!("{at} without [{index}]"), Value::Array(without)),
                    (format!("{at} turned"), Value::Array(turned)),
                ];
                inside.chain(others).collect::<Vec<_>>()
            })
            .collect(),
        Value::String(text) => vec![
            (at.to_owned(), json!(format!("{text}x"))),
            (at.to_owned(), json!(format!("1{text}"))),
            (format!("{at} to source"), json!("source")),
        ],
        Value::Bool(on) => vec![(at.to_owned(), json!(!on))],
        Value::Number(_) => vec![(at.to_owned(), json!(7))],
        Value::Null => Vec::new(),
    }
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// The hash is stored in the status of running rollouts: if the hash changes, they report that their steps cannot be
/// compared.
#[test]
fn built_in_workflow_digest_is_stable() {
    assert_eq!(digest(DEFINITION, ROLLOUT).as_deref(), Some("1:b56a77514bdb4621e78d"));
    let definition = yaml(DEFINITION);
    assert_eq!(
        digest(&definition.to_string(), &yaml(ROLLOUT).to_string()),
        digest(DEFINITION, ROLLOUT),
        "it is not text"
    );
}

#[test]
fn any_step_change_changes_digest() {
    let now = digest(DEFINITION, ROLLOUT).unwrap();
    let (definition, rollout) = (yaml(DEFINITION), yaml(ROLLOUT));
    let mut seen = BTreeMap::from([(now.clone(), "nothing".to_owned())]);
    let mut tell = |place: String, digest: Option<String>| {
        let Some(digest) = digest else { return };
        assert_ne!(digest, now, "{place}");
        seen.entry(digest).or_insert(place);
    };
    for (place, workflow) in changed(&definition["workflows"]["migrate"], "migrate") {
        let mut definition = definition.clone();
        definition["workflows"]["migrate"] = workflow.clone();
        if workflow != yaml(DEFINITION)["workflows"]["migrate"] {
            tell(place, digest(&definition.to_string(), ROLLOUT));
        }
    }
    for (place, run) in changed(&rollout["spec"]["waves"][0]["run"], "run") {
        let mut rollout = rollout.clone();
        rollout["spec"]["waves"][0]["run"] = run;
        tell(place, digest(DEFINITION, &rollout.to_string()));
    }
    assert!(seen.len() > 30, "only {} others are accepted: {seen:?}", seen.len());
}

#[test]
fn changed_steps_pause_rollout() {
    let rollout = read_rollout("rollout.yaml", ROLLOUT, &kind(DEFINITION).unwrap()).unwrap();
    let now = planned(&rollout, None).steps.unwrap();
    let is_halted = |status: &RolloutStatus| status.reason.as_deref() == Some("Changed");
    let told = |status: &RolloutStatus, steps: &str| {
        steps_not_compared(&RolloutStatus { steps: Some(steps.to_owned()), ..RolloutStatus::default() }, status)
    };
    for (before, halts, tells, after) in [
        (now.as_str(), false, false, now.as_str()),
        ("1:0123456789abcdef0123", true, false, "1:0123456789abcdef0123"),
        // A hash from a version without format numbers, and a hash from a future version.
        ("0123456789abcdef0123", false, true, now.as_str()),
        ("2:0123456789abcdef0123", false, true, now.as_str()),
    ] {
        let status = planned(&rollout, Some(before));
        assert_eq!((is_halted(&status), status.steps.as_deref()), (halts, Some(after)), "{before}: {}", status.message);
        assert_eq!(told(&status, before).is_some(), tells, "{before}");
    }
}
