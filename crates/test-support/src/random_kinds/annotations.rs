//! Random operations on annotations and labels.

use serde_json::{Value as Schema, json};

use super::draft_step::DraftStep;
use super::paths::{put, take, written};
use pointsman_core::laws::Random;

/// The annotations and labels of operations. Objects have some of them anyway.
const PLACES: [[&str; 3]; 4] = [
    ["metadata", "annotations", "a"],
    ["metadata", "annotations", "example.com/size"],
    ["metadata", "labels", "app"],
    ["metadata", "labels", "example.com/tier"],
];

/// A text that is an annotation or a label in one version.
pub(super) fn annotated(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    if !step.root {
        return None;
    }
    let place = random.pick(&PLACES)?.map(str::to_owned).to_vec();
    if step.taken.contains(&place) || step.made.contains(&place) {
        return None;
    }
    let is_text = |schema: &Schema| *schema == json!({"type": "string"});
    match random.below(3) {
        0 => {
            let from = step.optional(random, older, &is_text)?;
            take(&mut step.newer, &from)?;
            let operation = json!({"move": {"from": written(&from), "to": written(&place)}});
            step.done(operation, &[from], &[place])
        }
        1 => {
            let holder = step.holder(random);
            let to = step.target(random, older, &holder);
            put(&mut step.newer, &to, json!({"type": "string"}), false);
            let operation = json!({"move": {"from": written(&place), "to": written(&to)}});
            step.done(operation, &[place], &[to])
        }
        _ => {
            let operation = json!({"values": {"field": written(&place), "map": {"a": "b"}}});
            step.done(operation, std::slice::from_ref(&place), std::slice::from_ref(&place))
        }
    }
}
