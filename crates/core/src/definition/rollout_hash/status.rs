//! How the status of two versions describes a rollout.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::definition::{operation::Compiler, path::Path, place::Place, side::Side};

/// The rollout in the status: hashes in the newer version, request identifiers in the older version.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "RolloutStatus")]
pub(crate) struct StatusMappingSpec {
    /// The fields of the newer version. The older schema has the same optional fields, and copies the values.
    hashes: RequestedSpec,
    /// The fields of the older version: UUIDs.
    requests: RequestedSpec,
    /// The list of reasons in the status.
    reasons: ReasonsSpec,
}

/// The requested and the last completed change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Requested")]
struct RequestedSpec {
    /// The requested change.
    requested: String,
    /// The last completed change.
    completed: String,
}

/// Reasons in a list of conditions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Reasons")]
struct ReasonsSpec {
    /// The list of conditions.
    #[serde(rename = "in")]
    within: String,
    /// The reason that marks the point of no return.
    promoting: String,
    /// Reasons for a change in wait for approval, after the last completed request.
    #[serde(default)]
    staged: Vec<String>,
}

/// How the status of two versions describes a rollout.
#[derive(Debug)]
pub(crate) struct StatusMapping {
    /// The hashes of the newer version, copied by the older version.
    pub(crate) hashes: Requested,
    /// The requests of the older version.
    pub(crate) requests: Requested,
    pub(crate) reasons: Path,
    pub(crate) promoting: String,
    pub(crate) staged: Vec<String>,
}

/// The requested and the last completed change.
#[derive(Debug)]
pub(crate) struct Requested {
    pub(crate) requested: Place,
    pub(crate) completed: Place,
}

impl StatusMappingSpec {
    /// Compiles the fields against the two schemas.
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
    /// The fields of the older version that need no operation.
    pub(crate) fn handled(&self) -> [&Path; 2] {
        [&self.requests.requested.path, &self.requests.completed.path]
    }

    /// Describes each request and its hash in one line, for people.
    pub(crate) fn describe(&self) -> [String; 2] {
        let line = |request: &Place, hash: &Place| format!("rollout {} <-> {}", request.id, hash.id);
        [line(&self.requests.requested, &self.hashes.requested), line(&self.requests.completed, &self.hashes.completed)]
    }
}
