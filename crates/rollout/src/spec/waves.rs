//! Waves: parts of a fleet that are moved in sequence, each with a limit of objects in flight, and gates before and
//! after.

use super::document::{SelectorSpec, near};
use crate::definition::workflows::Workflow;
use pointsman_core::apimachinery::{Selector, parse_duration};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// A part of the fleet.
#[derive(Clone, Debug)]
pub(crate) struct Wave {
    pub(crate) name: String,
    pub(crate) chosen: ObjectSelector,
    pub(crate) max_in_flight: MaxInFlight,
    /// The gate before its first object.
    pub(crate) before: WaveGate,
    /// The gate after its last object.
    pub(crate) after: WaveGate,
    /// The workflow of its objects; `None` if only the version label changes.
    pub(crate) workflow: Option<Workflow>,
    /// The wave has no objects: it runs its workflow once.
    pub(crate) is_run: bool,
    pub(crate) states: WaveStates,
}

impl Wave {
    /// The gate on one side.
    pub(crate) fn gate(&self, side: WaveSide) -> &WaveGate {
        match side {
            WaveSide::Before => &self.before,
            WaveSide::After => &self.after,
        }
    }
}

/// State words of a wave.
#[derive(Clone, Debug)]
pub(crate) struct WaveStates {
    pub(crate) running: String,
    pub(crate) done: String,
    pub(crate) failed: String,
}

/// The maximum number of objects in flight.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MaxInFlight {
    Objects(usize),
    /// Of the objects in the wave.
    Percent(usize),
}

impl MaxInFlight {
    /// Parses `3` or `10%`.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let number = match value {
            Value::Number(number) => number.as_u64().map(|number| (number, false)),
            Value::String(text) => {
                let percent = text.strip_suffix('%').and_then(|text| text.parse().ok());
                percent.filter(|percent| *percent <= 100).map(|percent| (percent, true))
            }
            _ => None,
        };
        let read = match number {
            Some((1.., _)) => number.and_then(|(number, of)| Some((usize::try_from(number).ok()?, of))),
            _ => None,
        };
        match read {
            Some((percent, true)) => Ok(Self::Percent(percent)),
            Some((objects, false)) if objects <= MOST => Ok(Self::Objects(objects)),
            _ => {
                Err(format!("maxInFlight is a number from 1 to {MOST} or a part of the wave such as 10%, not {value}"))
            }
        }
    }

    /// The limit for a wave of this many objects: rounded down, and at least 1, so that the rollout progresses.
    pub(crate) fn of(self, objects: usize) -> usize {
        match self {
            Self::Objects(objects) => objects,
            Self::Percent(percent) => (objects * percent / 100).clamp(1, MOST),
        }
    }
}

/// The status lists every in-flight object, and must stay small.
const MOST: usize = 256;

/// The side of a wave.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WaveSide {
    /// Before its first object begins.
    Before,
    /// After its last object is complete, and before the next wave.
    After,
}

impl WaveSide {
    /// In chronological order.
    pub(crate) const BOTH: [Self; 2] = [Self::Before, Self::After];

    /// As in a StagedRollout.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }

    /// As text: `before canary`, `after canary`.
    #[must_use]
    pub fn of(self, wave: &str) -> String {
        match self {
            Self::Before => format!("before {wave}"),
            Self::After => format!("after {wave}"),
        }
    }
}

/// The gate on one side of a wave. All conditions must hold at the same time, in any order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct WaveGate {
    /// An operator approves.
    pub(crate) approval: bool,
    /// The start checks pass again.
    pub(crate) checks: bool,
    /// This time passes.
    pub(crate) wait: Option<Duration>,
}

impl WaveGate {
    /// True if the gate has no condition.
    pub(crate) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Parses `approval`, `checks` or `wait: 10m`, or a list of these.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let mut gate = Self::default();
        match value {
            Value::Array(all) if all.is_empty() => return Err(format!("is empty: remove the key, or use {KNOWN}")),
            Value::Array(all) => all.iter().try_for_each(|one| gate.add(one))?,
            one => gate.add(one)?,
        }
        Ok(gate)
    }

    fn add(&mut self, one: &Value) -> Result<(), String> {
        let known = match one {
            Value::String(word) if word == APPROVAL => std::mem::replace(&mut self.approval, true),
            Value::String(word) if word == CHECKS => std::mem::replace(&mut self.checks, true),
            Value::String(word) => {
                let hint = near(word, &[APPROVAL, CHECKS]);
                return Err(format!("{word:?} is unknown{hint} Known gates: {KNOWN}"));
            }
            Value::Object(members) => match members.iter().next().filter(|_| members.len() == 1) {
                Some((name, time)) if name == WAIT => self.wait.replace(duration(time)?).is_some(),
                Some((name, _)) if [APPROVAL, CHECKS].contains(&name.as_str()) => {
                    return Err(format!("{name} takes no value: write `- {name}`"));
                }
                Some((name, _)) => {
                    let hint = near(name, &[WAIT]);
                    return Err(format!("{name:?} is unknown{hint} Known gates: {KNOWN}"));
                }
                None => return Err(format!("{one} must name exactly one gate: write a list of {KNOWN}")),
            },
            _ => return Err(format!("{one} is no gate. Known gates: {KNOWN}")),
        };
        if known {
            let twice = one.as_str().unwrap_or(WAIT);
            return Err(format!("{twice} occurs twice"));
        }
        Ok(())
    }
}

fn duration(time: &Value) -> Result<Duration, String> {
    let text = time.as_str().map_or_else(|| time.to_string(), str::to_owned);
    let read = parse_duration(&text).map_err(|error| format!("wait: {text:?} is {error}"))?;
    if read.as_secs() == 0 {
        return Err(format!("wait: {text:?} is less than a second: remove the wait"));
    }
    Ok(read)
}

const APPROVAL: &str = "approval";
const CHECKS: &str = "checks";
const WAIT: &str = "wait";
/// All of them, for messages.
const KNOWN: &str = "approval, checks, {wait: 10m}";

/// Objects in some namespaces, with some labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectSelector {
    /// Empty selects all namespaces.
    namespaces: Vec<String>,
    labels: Selector,
}

impl ObjectSelector {
    /// Compiles the selector, or returns the error. The version label cannot select: the rollout changes it.
    pub(crate) fn compile(spec: &SelectorSpec, version_label: &str) -> Result<Self, String> {
        let labels = Selector::parse(spec.labels.as_deref().unwrap_or_default())?;
        if labels.depends_on(version_label) {
            return Err(format!(
                "selector.labels: {labels} contains {version_label}, which the rollout changes: use `from` instead"
            ));
        }
        Ok(Self { namespaces: spec.namespaces.clone(), labels })
    }

    pub(crate) fn holds(&self, namespace: Option<&str>, labels: &BTreeMap<String, String>) -> bool {
        let in_one = || self.namespaces.iter().any(|name| Some(name.as_str()) == namespace);
        (self.namespaces.is_empty() || in_one()) && self.labels.matches(labels)
    }

    /// True if the selection depends on a label.
    pub(crate) fn depends_on(&self, label: &str) -> bool {
        self.labels.depends_on(label)
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.namespaces.is_empty() && self.labels.is_everything()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn percentage_rounds_down_to_one() {
        let of = |value: Value, objects| MaxInFlight::read(&value).map(|max_in_flight| max_in_flight.of(objects));
        assert_eq!(of(json!(3), 1), Ok(3));
        assert_eq!(of(json!("10%"), 9), Ok(1));
        assert_eq!(of(json!("10%"), 29), Ok(2));
        assert_eq!(of(json!("100%"), 10_000), Ok(256));
        for bad in [json!(0), json!(-1), json!(257), json!(1.5), json!("101%"), json!("0%"), json!("3"), json!("x%")] {
            assert!(of(bad.clone(), 10).is_err(), "{bad}");
        }
    }

    #[test]
    fn gate_waits_for_one_or_several() {
        let gate = |approval, checks, seconds: Option<u64>| {
            Ok(WaveGate { approval, checks, wait: seconds.map(Duration::from_secs) })
        };
        assert_eq!(WaveGate::read(&json!("approval")), gate(true, false, None));
        assert_eq!(WaveGate::read(&json!("checks")), gate(false, true, None));
        assert_eq!(WaveGate::read(&json!({"wait": "10m"})), gate(false, false, Some(600)));
        assert_eq!(WaveGate::read(&json!([{"wait": "1h"}, "checks", "approval"])), gate(true, true, Some(3600)));
        assert_eq!(WaveGate::read(&json!(["checks"])), gate(false, true, None));
    }

    #[test]
    fn unlisted_approval_is_ignored() {
        for (input, why) in [
            (json!([]), "is empty: remove the key, or use approval, checks, {wait: 10m}"),
            (json!("10m"), "\"10m\" is unknown. Known gates: approval, checks, {wait: 10m}"),
            (json!(["aproval"]), "\"aproval\" is unknown, did you mean \"approval\"?"),
            (json!({"wayt": "10m"}), "\"wayt\" is unknown, did you mean \"wait\"?"),
            (json!({"wait": "10"}), "wait: \"10\" is not a duration"),
            (json!({"wait": 10}), "wait: \"10\" is not a duration"),
            (json!({"wait": "0s"}), "wait: \"0s\" is less than a second: remove the wait"),
            (json!({"wait": "10m", "approval": true}), "must name exactly one gate: write a list of"),
            (json!({}), "{} must name exactly one gate"),
            (json!(["checks", "checks"]), "checks occurs twice"),
            (json!([{"wait": "1m"}, {"wait": "2m"}]), "wait occurs twice"),
            (json!([["approval"]]), "[\"approval\"] is no gate"),
            (json!(true), "true is no gate"),
        ] {
            let error = WaveGate::read(&input).unwrap_err();
            assert!(error.contains(why), "{input}: {error}");
        }
    }
}
