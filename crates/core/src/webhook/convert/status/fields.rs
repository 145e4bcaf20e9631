//! The fields of the status that speak of a rollout: reading and writing them.

use crate::definition::{Place, RolloutStatus};
use crate::json::Json;
use crate::webhook::convert::{error::ConvertError, tree};

pub(crate) struct StatusConversion<'s> {
    /// Where the versions have their hashes, requests and reasons.
    pub(crate) fields: &'s RolloutStatus,
    /// The rollout hash of the object. `None` if the object is not complete: nothing is made up for it.
    pub(crate) calculated: Option<String>,
}

impl StatusConversion<'_> {
    /// The calculated hash, if there is a status that could say it.
    pub(super) fn calculated_for_status(&self, root: &mut Json<'_>) -> Option<&str> {
        let status = self.fields.hashes.completed.path.parent();
        let has_status = status.is_some_and(|status| tree::is_object(root, &status));
        self.calculated.as_deref().filter(|_| has_status)
    }

    /// The reasons that the conditions give.
    pub(super) fn reasons(&self, root: &mut Json<'_>) -> Result<Vec<String>, ConvertError> {
        let conditions = match tree::get(root, "", &self.fields.reasons)? {
            Some(conditions) => conditions.elements(),
            None => Vec::new(),
        };
        let reason =
            |condition: &Json<'_>| condition.get("reason").and_then(|reason| reason.as_str().map(|r| r.into_owned()));
        Ok(conditions.iter().filter_map(reason).collect())
    }
}

pub(super) fn is_hash(value: Option<&Json<'_>>, hash: &str) -> bool {
    value.is_some_and(|value| value.as_str().is_some_and(|value| value == hash))
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
