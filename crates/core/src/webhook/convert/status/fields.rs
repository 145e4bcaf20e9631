//! The fields of the status that speak of a rollout: reading and writing them.

use crate::definition::{Place, StatusMapping};
use crate::json::Json;
use crate::webhook::convert::{error::ConvertError, kept::Kept, tree};
use crate::webhook::rollout_hash::CalculatedHash;

pub(crate) struct StatusConversion<'s> {
    /// Where the versions have their hashes, requests and reasons.
    pub(crate) fields: &'s StatusMapping,
    /// The rollout hash of the object. `None` if the object is not complete: nothing is made up for it.
    pub(crate) calculated: Option<CalculatedHash>,
}

impl StatusConversion<'_> {
    /// The calculated hash.
    pub(super) fn hash(&self) -> Option<&str> {
        self.calculated.as_ref().map(|calculated| calculated.hash.as_str())
    }

    /// The same, if there is a status that could say it.
    pub(super) fn calculated_for_status(&self, root: &mut Json<'_>) -> Option<&str> {
        let has_status = tree::has_holder(root, &self.fields.hashes.completed.path);
        self.hash().filter(|_| has_status)
    }

    /// What the reasons that the conditions give come to.
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

/// What the conditions of an object say of its rollout.
pub(super) struct Reasons {
    /// It is under way, and cannot be stopped.
    pub(super) promoting: bool,
    /// It waits for somebody.
    pub(super) waits: bool,
}

pub(super) fn is_hash(value: Option<&Json<'_>>, hash: &str) -> bool {
    value.is_some_and(|value| value.as_str().is_some_and(|value| value == hash))
}

/// What a hash was before it became what it is `now`, absence included: as far as a version can say it.
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
