//! Results of mutations on objects, for rollouts that touch objects to have them mutated again.

use serde_json::Value;

use crate::definition::workflows::{ObjectAction, Touch, WorkflowStep};
use crate::lookup::results::MutationState;
use crate::observe::status::RolloutStatus;
use crate::spec::rollout::{Direction, Rollout};
use crate::steps::objects::observed_object::is_terminating;
use pointsman_core::definition::{MutatedKind, Mutation, MutationPhase, Path};
use pointsman_core::json::Json;

/// The message about the first missing mutation definition that the rollout needs. `None` during undo and abort, which
/// need none.
#[must_use]
pub fn missing_mutations(rollout: &Rollout, status: &RolloutStatus, mutated: &[MutatedKind]) -> Option<String> {
    let is_missing = |one: &Touch| find(mutated, (&one.resource.plural, &one.resource.group), &one.mutation).is_none();
    let forward = status.direction_of(rollout) == Direction::Forward;
    let readmissions = rollout.workflow_steps().filter_map(|step| Some((&step.name, readmission(step)?)));
    readmissions.filter(|(_, one)| forward && is_missing(one)).map(|(step, one)| missing(step, one)).next()
}

/// Checks whether a mutation has processed an object from the API server, after its fact: applying the mutation is a
/// no-op. `resource` is plural and group.
#[must_use]
pub fn seen_by_mutation(
    mutated: &[MutatedKind],
    resource: (&str, &str),
    mutation: &str,
    object: &Value,
) -> MutationState {
    let Some((kind, mutation)) = find(mutated, resource, mutation) else {
        return MutationState::Unknown(format!(
            "no definition with the mutation {mutation} is loaded: add its directory with --kinds"
        ));
    };
    if is_terminating(object) {
        return MutationState::Terminating;
    }
    let before = Json::owned(object.to_string());
    if !mutation.selection.matches(&before) {
        return MutationState::Unknown(format!("mutation {} does not select the object", mutation.name));
    }
    let mut made = before;
    // A mutation that cannot handle the object leaves it unchanged: this is not a handover.
    if let Some(remark) = mutation.remarks(MutationPhase::After, &mut made, &kind.pod).into_iter().next() {
        return MutationState::Unknown(remark);
    }
    mutation.apply(MutationPhase::After, &mut made, &kind.pod);
    let made: Value = serde_json::from_str(&made.to_text()).unwrap_or_default();
    first_difference(object, &made, &Path::default())
        .map_or(MutationState::Seen, |path| MutationState::Unseen(path.to_string()))
}

fn readmission(step: &WorkflowStep) -> Option<&Touch> {
    match &step.object_step()?.act {
        ObjectAction::Readmit(readmission) => Some(readmission),
        _ => None,
    }
}

/// A mutation of a resource, and its definition.
fn find<'s>(
    mutated: &'s [MutatedKind],
    resource: (&str, &str),
    mutation: &str,
) -> Option<(&'s MutatedKind, &'s Mutation)> {
    let mut of_it = mutated.iter().filter(|kind| (kind.plural(), kind.group()) == resource);
    of_it.find_map(|kind| Some((kind, kind.mutations.iter().find(|one| one.name == mutation)?)))
}

fn missing(step: &str, Touch { resource, mutation, .. }: &Touch) -> String {
    format!(
        "step {step} writes {resource} until mutation {mutation} is applied, but no definition with this \
             mutation of {resource} is loaded: add its directory with --kinds"
    )
}

/// The first path at which two documents differ, outermost first.
fn first_difference(one: &Value, other: &Value, at: &Path) -> Option<Path> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort_unstable();
            names.dedup();
            let inner = |name: &String| match (one.get(name), other.get(name)) {
                (Some(one), Some(other)) => first_difference(one, other, &at.join(name)),
                _ => Some(at.join(name)),
            };
            names.into_iter().find_map(inner)
        }
        (Value::Array(one), Value::Array(other)) => {
            let inner = |index: usize| match (one.get(index), other.get(index)) {
                (Some(one), Some(other)) => first_difference(one, other, &at.join(&index.to_string())),
                _ => Some(at.join(&index.to_string())),
            };
            (0..one.len().max(other.len())).find_map(inner)
        }
        _ => (one != other).then(|| at.clone()),
    }
}
