//! Gates before and after a wave: approval, start checks, and time.

use std::time::Duration;

use serde_json::Value;

use super::suggestion::near;
use pointsman_core::apimachinery::parse_duration;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
