//! A hash of the wave workflows in the status, which detects changes during a rollout.
//!
//! Input is the text of the definition and the StagedRollout alone, so other versions of the program compute the same
//! hash. Form 1 is an object with `from`, `to` and `waves`. Each wave has `name` and either `workflow` and `steps`, or
//! `run`, each as written. The form is compact JSON with members sorted by name and numbers as `serde_json` writes
//! them. The hash is `1:` and the first 20 hexadecimal digits of its SHA-256. Comments, member order and YAML style do
//! not count. Unlike in the rollout hash, null and empty values count, since they can be keywords (`convert: {}`).
//! Another form would have another number.

use serde_json::{Value, json};

use crate::observe::rollout_annotation::short_hash;
use crate::observe::status::RolloutStatus;
use crate::spec::rollout::Rollout;
use crate::spec::waves::Wave;

/// Comparison of the stored hash with the current steps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ComparedSteps {
    /// Equal, or no hash stored.
    Same,
    /// Different.
    Changed,
    /// Stored by another program version, in an unknown form.
    Unknown,
}

/// The hash of the wave workflows.
pub(crate) fn digest_of_steps(rollout: &Rollout) -> String {
    let waves: Vec<Value> = rollout.waves.iter().map(words).collect();
    let form = json!({"from": rollout.from, "to": rollout.to, "waves": waves}).to_string();
    format!("{FORM}{}", short_hash(&form, DIGITS))
}

/// Compares the stored hash with the current one.
pub(crate) fn compare(before: Option<&str>, now: &str) -> ComparedSteps {
    match before {
        None => ComparedSteps::Same,
        Some(before) if before == now => ComparedSteps::Same,
        Some(before) if before.starts_with(FORM) => ComparedSteps::Changed,
        Some(_) => ComparedSteps::Unknown,
    }
}

/// A warning if the earlier status has a hash of another program version, so that changed workflows would be missed;
/// `None` otherwise.
#[must_use]
pub fn steps_not_compared(before: &RolloutStatus, now: &RolloutStatus) -> Option<String> {
    let is_unknown = |now: &String| compare(before.steps.as_deref(), now) == ComparedSteps::Unknown;
    now.steps.as_ref().filter(|now| is_unknown(now)).map(|_| {
        "another version of pointsman stored the hash of the workflows in an unknown form, so changes since the \
             start are not detected. The current workflows count from now on"
            .to_owned()
    })
}

fn words(wave: &Wave) -> Value {
    match &wave.workflow {
        Some(workflow) if wave.is_run => json!({"name": wave.name, "run": workflow.words}),
        Some(workflow) => json!({"name": wave.name, "workflow": workflow.name, "steps": workflow.words}),
        None => json!({"name": wave.name}),
    }
}

/// The form number, before the digits.
const FORM: &str = "1:";

/// Bytes of a hash that distinguishes few versions of a wave.
const DIGITS: usize = 10;
