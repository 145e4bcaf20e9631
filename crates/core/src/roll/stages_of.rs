//! What stages make of objects, for rolls that have them written once more.

use serde_json::Value;

use super::fleet_roll::FleetRoll;
use super::staged::Staged;
use crate::definition::{BesideAct, JourneyStep, Path, Readmission, StagePhase, StagedKind};
use crate::json::Json;

/// Which definition of stages a roll cannot do without and is not there, in words; nothing where all are.
#[must_use]
pub fn missing_stages(roll: &FleetRoll, staged: &[StagedKind]) -> Option<String> {
    let steps = roll.waves.iter().filter_map(|wave| wave.journey.as_ref()).flat_map(|journey| &journey.steps);
    let readmissions = steps.filter_map(|step| Some((&step.name, readmission(step)?)));
    readmissions.filter(|(_, one)| find(staged, one).is_none()).map(|(step, one)| missing(step, one)).next()
}

/// Whether a stage has seen an object, as an API server answers it, after its fact: whether it would change nothing of
/// it. `resource` is plural and group.
#[must_use]
pub fn seen_by_stage(staged: &[StagedKind], resource: (&str, &str), stage: &str, object: &Value) -> Staged {
    let is_of_it = |kind: &&StagedKind| (kind.plural(), kind.group()) == resource;
    let found = staged.iter().filter(is_of_it).find_map(|kind| {
        let stage = kind.stages.iter().find(|one| one.name == stage)?;
        Some((kind, stage))
    });
    let Some((kind, stage)) = found else {
        return Staged::Unknown(format!(
            "no definition with the stage {stage} is loaded: give its directory with --kinds"
        ));
    };
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null()) {
        return Staged::Going;
    }
    let before = Json::owned(object.to_string());
    if !stage.selection.matches(&before) {
        return Staged::Unknown(format!("stage {} is not about it, and never sees it", stage.name));
    }
    let mut made = before;
    // What it cannot do anything about it leaves as it is, and that is no hand-over.
    if let Some(remark) = stage.remarks(StagePhase::After, &mut made, &kind.pod).into_iter().next() {
        return Staged::Unknown(remark);
    }
    stage.apply(StagePhase::After, &mut made, &kind.pod);
    let made: Value = serde_json::from_str(&made.to_text()).unwrap_or_default();
    first_difference(object, &made, &Path::default()).map_or(Staged::Seen, |path| Staged::Unseen(path.to_string()))
}

fn readmission(step: &JourneyStep) -> Option<&Readmission> {
    match &step.beside()?.act {
        BesideAct::Readmit(readmission) => Some(readmission),
        _ => None,
    }
}

fn find<'s>(staged: &'s [StagedKind], readmission: &Readmission) -> Option<&'s StagedKind> {
    let is_of_it = |kind: &&StagedKind| kind.resource() == readmission.resource;
    staged.iter().filter(is_of_it).find(|kind| kind.stages().any(|stage| stage == readmission.stage))
}

fn missing(step: &str, Readmission { resource, stage, .. }: &Readmission) -> String {
    format!(
        "step {step} has {resource} written until stage {stage} has seen them, and no definition of stages of {resource} \
         with that stage is loaded: give its directory with --kinds"
    )
}

/// The first place in which two documents differ, outermost first.
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
