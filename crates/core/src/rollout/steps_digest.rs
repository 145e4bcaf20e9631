//! What the waves of a rollout do, as a hash that stands in its status: it does not change under way.
//!
//! It is made of the words of the definition and of the StagedRollout, and of nothing that is this program's own, so
//! that another version of the program makes the same one of them. Form 1: an object with `from` and `to` of the
//! StagedRollout and `waves`, a list of objects with `name` and, where the wave goes a workflow, `workflow` and `steps`,
//! or, where it runs something, `run`, each as it was written; as compact JSON with its members sorted by name, and
//! numbers as `serde_json` writes them; SHA-256 of that, the first 20 hexadecimal digits, behind `1:`. Comments, the
//! order of members and the style of the YAML do not count. Unlike the rollout hash it does not pass over what is null
//! or empty, which may be a word here (`convert: {}`). Another form would have another number.

use serde_json::{Value, json};

use super::fleet_rollout::Rollout;
use super::short_hash::short_hash;
use super::status::RolloutStatus;
use super::wave::Wave;

/// What a status says of the steps, beside what they are now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ComparedSteps {
    /// They are those with which the rollout began, or nothing was written down yet.
    Same,
    /// They are others.
    Changed,
    /// Another version of the program has written it down, in a form that this one does not make.
    Unknown,
}

/// What the waves of a rollout do, as a hash.
pub(super) fn digest_of_steps(rollout: &Rollout) -> String {
    let waves: Vec<Value> = rollout.waves.iter().map(words).collect();
    let form = json!({"from": rollout.from, "to": rollout.to, "waves": waves}).to_string();
    format!("{FORM}{}", short_hash(&form, DIGITS))
}

/// Compares what was written down with what is made of the steps now.
pub(super) fn compare(before: Option<&str>, now: &str) -> ComparedSteps {
    match before {
        None => ComparedSteps::Same,
        Some(before) if before == now => ComparedSteps::Same,
        Some(before) if before.starts_with(FORM) => ComparedSteps::Changed,
        Some(_) => ComparedSteps::Unknown,
    }
}

/// What is told where the status before was written by another version of the program, so that nobody knows whether the
/// workflows are those with which the rollout began; nothing where that is known.
#[must_use]
pub fn steps_not_compared(before: &RolloutStatus, now: &RolloutStatus) -> Option<String> {
    let is_unknown = |now: &String| compare(before.steps.as_deref(), now) == ComparedSteps::Unknown;
    now.steps.as_ref().filter(|now| is_unknown(now)).map(|_| {
        "another version of pointsman has written down what its workflows were, in a form that this one does not know: \
         that they are those with which it began was not looked at. They count as those from now on"
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

/// Before the digits, the number of the form.
const FORM: &str = "1:";

/// Bytes of a hash that only has to tell what a wave does now from what it did.
const DIGITS: usize = 10;
