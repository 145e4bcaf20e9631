//! Random operations on fields without a schema.

use serde_json::{Value as Schema, json};

use super::draft_step::DraftStep;
use super::paths::written;
use pointsman_core::laws::Random;
use pointsman_core::laws::schema::{flag, map_values};

/// The fields of operations. An object may have any of them, so places of one operation may hold a value of another.
const NAMES: [&str; 6] = ["a", "b", "mode", "steps", "x.y", "é"];

/// Operations inside of an object or a value that preserves unknown fields.
pub(super) fn schemaless(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let at = step.field(random, older, &is_schemaless)?;
    for operation in operations(random, &at, 1) {
        step.operations.push(operation);
    }
    step.taken.push(at.clone());
    step.made.push(at);
    Some(())
}

fn is_schemaless(schema: &Schema) -> bool {
    flag(schema, "x-kubernetes-preserve-unknown-fields")
        && schema.get("properties").is_none()
        && map_values(schema).is_none()
}

/// One to three operations on different fields below a place. `depth` is the number of lists inside.
fn operations(random: &mut Random, at: &[String], depth: usize) -> Vec<Schema> {
    let mut free: Vec<&str> = NAMES.to_vec();
    let mut take = |random: &mut Random| {
        let name = free.swap_remove(random.below(free.len()));
        // The operations take up to four names.
        let parent = (random.percent(25) && free.len() > 3).then(|| free.pop()).flatten();
        let names = parent.into_iter().chain([name]).map(str::to_owned);
        written(&at.iter().cloned().chain(names).collect::<Vec<_>>())
    };
    let mut all = Vec::new();
    for _ in 0..1 + random.below(2) {
        let one = take(random);
        all.push(match random.below(if depth == 0 { 4 } else { 6 }) {
            0 => json!({"drop": one}),
            1 => json!({"values": {"field": one, "map": {"a": "A", "true": true}}}),
            2 | 3 => json!({"rename": {"from": one, "to": take(random)}}),
            _ => json!({"each": {"in": one, "operations": operations(random, &[], depth - 1)}}),
        });
    }
    all
}
