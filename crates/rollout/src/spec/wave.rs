//! Waves: parts of a fleet that are moved in sequence, each with a limit of objects in flight.

use serde_json::Value;

use super::object_selector::ObjectSelector;
use super::wave_gate::{WaveGate, WaveSide};
use pointsman_core::definition::Workflow;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
}
