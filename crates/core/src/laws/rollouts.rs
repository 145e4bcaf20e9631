//! The rollout fields in the status of a kind, from the kind's summary.

use crate::definition::Kind;

/// A request and the hash that represents it in the newer version's status.
#[derive(Clone, Debug)]
pub(super) struct RolloutFields {
    pub(super) request: String,
    pub(super) hash: String,
}

/// The rollout fields of a kind from its summary: the requested pair, then the completed pair.
pub(super) fn rollouts(kind: &Kind) -> Vec<RolloutFields> {
    let steps = kind.steps();
    let lines = steps.iter().flat_map(|step| &step.operations);
    let fields = |line: &String| {
        let (request, hash) = line.strip_prefix("rollout ")?.split_once(" <-> ")?;
        Some(RolloutFields { request: request.to_owned(), hash: hash.to_owned() })
    };
    lines.filter_map(fields).collect()
}
