//! How the status of two versions speaks of a rollout.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::definition::{operation::Compiler, path::Path, place::Place, side::Side};

/// A rollout in the status: by hashes in the newer version, by request identifiers in the older one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "RolloutStatus")]
pub(crate) struct StatusMappingSpec {
    /// The newer version's fields. The older schema has them too, as optional fields that carry.
    hashes: RequestedSpec,
    /// The older version's fields: UUIDs.
    requests: RequestedSpec,
    /// Where the status says why it is as it is.
    reasons: ReasonsSpec,
}

/// What was asked for, and what was done last.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Requested")]
struct RequestedSpec {
    /// What was asked for.
    requested: String,
    /// What was completed last.
    completed: String,
}

/// Reasons in a list of conditions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Reasons")]
struct ReasonsSpec {
    /// The list of conditions.
    #[serde(rename = "in")]
    within: String,
    /// The reason that says: the point of no return is passed.
    promoting: String,
    /// Reasons that say: a change waits for somebody, although the last request is completed.
    #[serde(default)]
    staged: Vec<String>,
}

/// How the status of two versions speaks of a rollout.
#[derive(Debug)]
pub(crate) struct StatusMapping {
    /// The newer version's hashes, carried by the older one.
    pub(crate) hashes: Requested,
    /// The older version's requests.
    pub(crate) requests: Requested,
    pub(crate) reasons: Path,
    pub(crate) promoting: String,
    pub(crate) staged: Vec<String>,
}

/// What was asked for, and what was done last.
#[derive(Debug)]
pub(crate) struct Requested {
    pub(crate) requested: Place,
    pub(crate) completed: Place,
}

impl StatusMappingSpec {
    /// The fields as the two schemas have them.
    pub(crate) fn compile(&self, compiler: &mut Compiler<'_>) -> Option<StatusMapping> {
        let mut both = |text: &str| {
            let older = compiler.place(Side::Older, text);
            let newer = compiler.place(Side::Newer, text);
            older.and(newer)
        };
        let requested = both(&self.hashes.requested);
        let completed = both(&self.hashes.completed);
        let reasons = both(&self.reasons.within);
        let request = compiler.place(Side::Older, &self.requests.requested);
        let done = compiler.place(Side::Older, &self.requests.completed);
        let (reasons, request, done) = (reasons?, request?, done?);
        for Place { path, .. } in [&request, &done] {
            if compiler.newer.at(path).is_some() {
                compiler.problem(format!("rolloutStatus.requests: the newer version has {path} too"));
            }
        }
        Some(StatusMapping {
            hashes: Requested { requested: requested?, completed: completed? },
            requests: Requested { requested: request, completed: done },
            reasons: reasons.path,
            promoting: self.reasons.promoting.clone(),
            staged: self.reasons.staged.clone(),
        })
    }
}

impl StatusMapping {
    /// The older version's fields that no operation needs to name.
    pub(crate) fn handled(&self) -> [&Path; 2] {
        [&self.requests.requested.path, &self.requests.completed.path]
    }

    /// One line for each request and its hash, for people.
    pub(crate) fn describe(&self) -> [String; 2] {
        let line = |request: &Place, hash: &Place| format!("rollout {} <-> {}", request.id, hash.id);
        [line(&self.requests.requested, &self.hashes.requested), line(&self.requests.completed, &self.hashes.completed)]
    }
}
