//! Reads and writes the rollout fields of the status.

use crate::definition::{Place, StatusMapping};
use crate::json::Json;
use crate::webhook::convert::{error::ConvertError, kept::Kept, tree};
use crate::webhook::rollout_hash::CalculatedHash;

pub(crate) struct StatusConversion<'s> {
    /// The fields of the hashes, requests and reasons.
    pub(crate) fields: &'s StatusMapping,
    /// The rollout hash of the object. `None` if the object is incomplete; then no value is derived.
    pub(crate) calculated: Option<CalculatedHash>,
}

impl StatusConversion<'_> {
    /// The calculated hash.
    pub(super) fn hash(&self) -> Option<&str> {
        self.calculated.as_ref().map(|calculated| calculated.hash.as_str())
    }

    /// The calculated hash, if the object has a status.
    pub(super) fn calculated_for_status(&self, root: &mut Json<'_>) -> Option<&str> {
        let has_status = tree::has_holder(root, &self.fields.hashes.completed.path);
        self.hash().filter(|_| has_status)
    }

    /// The reasons in the conditions.
    pub(super) fn reasons(&self, root: &mut Json<'_>) -> Result<Reasons, ConvertError> {
        let mut reasons = Reasons { promoting: false, waits: false };
        let conditions = tree::get(root, "", &self.fields.reasons)?.map(|conditions| conditions.elements());
        for condition in conditions.iter().flatten() {
            let reason = condition.get("reason");
            let Some(reason) = reason.as_ref().and_then(Json::as_str) else { continue };
            reasons.promoting |= *reason == self.fields.promoting;
            reasons.waits |= self.fields.staged.iter().any(|staged| *staged == reason);
        }
        Ok(reasons)
    }
}

/// The state of the rollout in the conditions of an object.
pub(super) struct Reasons {
    /// The rollout is in progress and cannot be aborted.
    pub(super) promoting: bool,
    /// The rollout waits for approval.
    pub(super) waits: bool,
}

pub(super) fn is_hash(value: Option<&Json<'_>>, hash: &str) -> bool {
    value.is_some_and(|value| value.as_str().is_some_and(|value| value == hash))
}

/// The value of a hash, absence included, before it became `now`, if it is a valid type.
pub(super) fn hash_before<'a>(kept: &Kept<'a>, place: &Place, now: &Option<Json<'_>>) -> Option<Option<Json<'a>>> {
    let before = kept.fields.value(&place.id, 1, (std::slice::from_ref(now), &[]))?.into_iter().next().flatten();
    before.as_ref().is_none_or(|before| place.schema.has_types_of(before)).then_some(before)
}

pub(super) fn get<'a>(root: &mut Json<'a>, place: &Place) -> Result<Option<Json<'a>>, ConvertError> {
    Ok(tree::get(root, "", &place.path)?.cloned())
}

pub(super) fn set<'a>(root: &mut Json<'a>, place: &Place, value: Option<Json<'a>>) -> Result<(), ConvertError> {
    match value {
        Some(value) => tree::put(root, &place.path, value),
        None => tree::take(root, "", &place.path).map(drop),
    }
}
