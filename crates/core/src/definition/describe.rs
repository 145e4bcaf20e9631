//! What a compiled definition says, for people: which operations lead from one version to the next, and what is hashed.

use super::{EMBEDDED, Kind, Lens, Operation, Place};

/// What happens between two neighbouring versions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StepSummary {
    /// The older version.
    pub from: String,
    /// The newer version.
    pub to: String,
    /// One line for each operation.
    pub operations: Vec<String>,
}

/// The text of a definition that is built in, by its name.
#[must_use]
pub fn embedded_text(name: &str) -> Option<&'static str> {
    let file = format!("{name}.yaml");
    EMBEDDED.iter().find(|(known, _, _)| *known == file).map(|(_, text, _)| *text)
}

impl Kind {
    /// What happens between the versions, oldest first.
    #[must_use]
    pub fn steps(&self) -> Vec<StepSummary> {
        let summary = |step: &super::Step| {
            let mut operations = lines("", &step.level.operations);
            if let Some(status) = &step.status {
                for (hash, request) in [
                    (&status.hashes.requested, &status.requests.requested),
                    (&status.hashes.completed, &status.requests.completed),
                ] {
                    operations.push(format!("rollout {} <-> {}", request.id, hash.id));
                }
            }
            StepSummary {
                from: step.versions.older.to_string(),
                to: step.versions.newer.to_string(),
                operations,
            }
        };
        self.steps.iter().map(summary).collect()
    }

    /// The rollout hash in one line, if there is one.
    #[must_use]
    pub fn rollout(&self) -> Option<String> {
        let rollout = self.rollout.as_ref()?;
        let at = self.hash_version()?;
        let force = rollout
            .force
            .as_deref()
            .map(|force| format!(", forced by annotation {force}"))
            .unwrap_or_default();
        Some(format!("{} at {at}{force}", rollout.of))
    }

    /// The annotation that forces a rollout, if there is one.
    #[must_use]
    pub fn force_annotation(&self) -> Option<&str> {
        self.rollout.as_ref()?.force.as_deref()
    }
}

/// What loading adds by itself is left out: the user did not write it.
fn lines(prefix: &str, operations: &[Operation]) -> Vec<String> {
    let written = operations.iter().filter(|operation| {
        let mut places = operation.places.older.iter().chain(&operation.places.newer);
        operation.name != "required" && !places.any(|place| place.remainder)
    });
    written.flat_map(|operation| line(prefix, operation)).collect()
}

fn line(prefix: &str, operation: &Operation) -> Vec<String> {
    let ids = |places: &[Place]| {
        places.iter().map(|place| format!("{prefix}{}", place.id)).collect::<Vec<_>>().join(" + ")
    };
    let (older, newer) = (ids(&operation.places.older), ids(&operation.places.newer));
    let name = operation.name;
    let first = match (&operation.lens, older.is_empty(), newer.is_empty()) {
        (Lens::IntoMap { .. }, ..) => {
            let field =
                operation.places.older.first().map(|place| place.id.as_str()).unwrap_or_default();
            format!("{name} {prefix}{field} <-> {newer}")
        }
        (_, false, true) => format!("{name} {older}"),
        (_, true, false) => format!("{name} {newer}"),
        _ if older == newer => format!("{name} {older}"),
        _ => format!("{name} {older} <-> {newer}"),
    };
    match &operation.lens {
        Lens::Each { level, .. } => {
            let inside =
                operation.places.newer.first().map(|place| place.id.as_str()).unwrap_or_default();
            let mut all = vec![first];
            all.extend(lines(&format!("{prefix}{inside}[*]."), &level.operations));
            all
        }
        _ => vec![first],
    }
}
