//! Rollout requests: UUIDs in any spelling.

use uuid::Uuid;

use crate::webhook::convert::{error::ConvertError, tree};
use crate::{definition::StatusMapping, json::Json};

/// The requests of the older version, taken out of the object before its operations run.
pub(crate) struct RolloutRequests<'a> {
    pub(super) requested: Option<Json<'a>>,
    pub(super) completed: Option<Json<'a>>,
}

impl<'a> RolloutRequests<'a> {
    pub(crate) fn take(root: &mut Json<'a>, fields: &StatusMapping) -> Result<Self, ConvertError> {
        let requested = tree::take(root, "", &fields.requests.requested.path)?;
        let completed = tree::take(root, "", &fields.requests.completed.path)?;
        Ok(Self { requested, completed })
    }
}

/// The request that represents a hash, deterministic (a UUID by name: RFC 9562 §5.5, the OID name space).
pub(super) fn standing_for<'a>(hash: &str) -> Json<'a> {
    Json::string(&Uuid::new_v5(&Uuid::NAMESPACE_OID, hash.as_bytes()).to_string())
}

/// A request that is not completed. It represents the completed hash, so it is stable while that hash is unchanged.
pub(super) fn other_than<'a>(requested: Option<&Json<'_>>, completed_hash: Option<&Json<'_>>) -> Json<'a> {
    // An object without a completed hash uses the empty string.
    let completed = standing_for(&completed_hash.and_then(Json::as_str).unwrap_or_default());
    match requested {
        Some(requested) if same(requested, &completed) => Json::string(&Uuid::nil().to_string()),
        _ => completed,
    }
}

/// Returns whether two values are the same UUID in any spelling. Other values must be equal.
pub(super) fn same(one: &Json<'_>, two: &Json<'_>) -> bool {
    match (uuid(one), uuid(two)) {
        (Some(one), Some(two)) => one == two,
        _ => one.same(two),
    }
}

/// Returns whether the last completed request equals the request. Two nil UUIDs mean that no rollout was requested.
pub(super) fn is_done(requested: Option<&Json<'_>>, completed: Option<&Json<'_>>) -> bool {
    match (requested.and_then(uuid), completed.and_then(uuid)) {
        (Some(requested), Some(completed)) => requested == completed && !requested.is_nil(),
        _ => false,
    }
}

fn uuid(value: &Json<'_>) -> Option<Uuid> {
    value.as_str().and_then(|text| Uuid::try_parse(&text).ok())
}
