//! How the status of a kind speaks of rollouts, as the kind's summary says.

use crate::definition::Kind;

/// A request and the hash that stands for it in the newer version's status.
#[derive(Clone, Debug)]
pub(super) struct RolloutFields {
    pub(super) request: String,
    pub(super) hash: String,
}

/// How a kind's status speaks of a rollout, as its summary says: what was asked for, then what was completed.
pub(super) fn rollouts(kind: &Kind) -> Vec<RolloutFields> {
    let steps = kind.steps();
    let lines = steps.iter().flat_map(|step| &step.operations);
    let fields = |line: &String| {
        let (request, hash) = line.strip_prefix("rollout ")?.split_once(" <-> ")?;
        Some(RolloutFields { request: request.to_owned(), hash: hash.to_owned() })
    };
    lines.filter_map(fields).collect()
}
