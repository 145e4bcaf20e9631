//! How the status of two versions speaks of the same rollout: by hashes in the newer one, by request UUIDs in the older.
//!
//! Going up, hashes that the older status carries are kept as long as nobody wrote the completed request: a new request
//! alone never moves the status, a controller that records a completion does. Going down, the completed request tells
//! the truth: it equals the request exactly when the completed hash is the one calculated from the spec.

use uuid::Uuid;

use super::kept::Kept;
use super::tree;
use super::{Change, ConvertError};
use crate::definition::{Path, Place, RolloutStatus};
use crate::json::Json;

/// The older version's requests, taken out of the object before its operations run.
#[derive(Default)]
pub(super) struct Requests<'a> {
    requested: Option<Json<'a>>,
    completed: Option<Json<'a>>,
}

/// What one conversion of the status needs to know.
pub(super) struct Rolling<'s> {
    pub(super) status: &'s RolloutStatus,
    /// The object is complete.
    pub(super) complete: bool,
    /// The hash of the object in the newer version.
    pub(super) hash: String,
}

impl<'a> Requests<'a> {
    pub(super) fn take(root: &mut Json<'a>, status: &RolloutStatus) -> Result<Self, ConvertError> {
        let requested = tree::take(root, "", &status.requests.requested.path)?;
        let completed = tree::take(root, "", &status.requests.completed.path)?;
        Ok(Self { requested, completed })
    }
}

impl Rolling<'_> {
    /// Writes the newer version's status. Returns whether a change that waits for somebody was taken as completed.
    pub(super) fn up<'a>(
        &self,
        root: &mut Json<'a>,
        requests: Requests<'a>,
        left: &Kept<'_>,
        own: &mut Kept<'a>,
    ) -> Result<bool, ConvertError> {
        let (request, done) = (&self.status.requests.requested, &self.status.requests.completed);
        let derived = left.get(&request.id, "derived");
        let untouched = |left: &Option<Json<'_>>, now: &Option<Json<'_>>| matches!((left, now), (Some(left), Some(now)) if same_uuid(left, now));
        if !(self.complete && untouched(&derived, &requests.requested))
            && let Some(requested) = &requests.requested
        {
            own.keep(&request.id, &vec![Some(requested.clone())], &Vec::new());
        }
        let status = self.complete && self.has_status(root);
        let mut staged = false;
        let derived = left.get(&done.id, "derived");
        let guard = derived.clone().or_else(|| left.get(&done.id, "left"));
        let settled = says_done(requests.requested.as_ref(), requests.completed.as_ref());
        if status {
            let untouched = untouched(&guard, &requests.completed);
            let carrying = if untouched {
                Carrying::AsLeft
            } else if guard.is_some() {
                Carrying::Nothing
            } else {
                Carrying::Values
            };
            let reasons = self.reasons(root)?;
            let promoting = reasons.contains(&self.status.promoting);
            let calculated = || Some(Json::string(&self.hash));
            let completed = (settled && !promoting).then(calculated).flatten();
            let requested = (!promoting).then(calculated).flatten();
            let was_carried =
                self.carry(root, &self.status.hashes.completed, completed, carrying, left, own)?;
            self.carry(root, &self.status.hashes.requested, requested, carrying, left, own)?;
            staged = settled
                && !was_carried
                && reasons.iter().any(|reason| self.status.staged.contains(reason));
        }
        if let Some(completed) = requests.completed
            && !(status && untouched(&derived, &Some(completed.clone())))
        {
            let became = tree::get(root, "", &self.status.hashes.completed.path)?.cloned();
            let truthful = settled == self.is_calculated(became.as_ref());
            let written = !untouched(&guard, &Some(completed.clone()));
            let as_found = written || is_hash(left.get(&done.id, "at"), &self.hash);
            if !status || truthful || as_found {
                own.keep(&done.id, &vec![Some(completed)], &vec![became]);
            }
            if status && as_found && !truthful {
                // Found so, not made so: it comes back as it was while the spec is the same.
                own.add(&done.id, "at", Json::string(&self.hash));
            }
        }
        Ok(staged)
    }

    /// Leaves a carried hash alone, or replaces it. Returns whether it was carried.
    fn carry<'a>(
        &self,
        root: &mut Json<'a>,
        place: &Place,
        calculated: Option<Json<'a>>,
        carrying: Carrying,
        left: &Kept<'_>,
        own: &mut Kept<'a>,
    ) -> Result<bool, ConvertError> {
        let now = tree::get(root, "", &place.path)?.cloned();
        let places = std::slice::from_ref(place);
        let mut new = calculated;
        match (carrying, &now) {
            (Carrying::AsLeft, _) => {
                let noted =
                    left.get(&self.status.requests.completed.id, "absent").is_some_and(|absent| {
                        absent
                            .elements()
                            .iter()
                            .any(|id| id.as_str().as_deref() == Some(place.id.as_str()))
                    });
                match (left.give_back(&place.id, places, &vec![now.clone()]), &now) {
                    (Some(given), now) => {
                        new = given.into_iter().next().flatten();
                        own.keep(&place.id, &vec![now.clone()], &vec![new.clone()]);
                    }
                    (None, Some(_)) => return Ok(true),
                    (None, None) if noted => return Ok(true),
                    (None, None) => {}
                }
            }
            (Carrying::Values, Some(value)) if !value.is_null() => return Ok(true),
            // A null that no controller of the newer version wrote says nothing; it comes back as the null it was.
            (Carrying::Values, Some(_)) => {
                own.keep(&place.id, &vec![now.clone()], &vec![new.clone()])
            }
            (Carrying::Nothing | Carrying::Values, _) => {}
        }
        set(root, place, new)?;
        Ok(false)
    }

    /// Writes the older version's requests.
    pub(super) fn down<'a>(
        &self,
        root: &mut Json<'a>,
        left: &Kept<'_>,
        own: &mut Kept<'a>,
        trace: Option<&mut Vec<Change>>,
    ) -> Result<(), ConvertError> {
        let (request, done) = (&self.status.requests.requested, &self.status.requests.completed);
        let mut requested = give_back(left, request, &Vec::new())
            .filter(|value| self.is_usable(root, request, value));
        if requested.is_none() && self.complete {
            let derived = Json::string(&derive(&self.hash));
            own.add(&request.id, "derived", derived.clone());
            requested = Some(derived);
        }
        let completed_hash = tree::get(root, "", &self.status.hashes.completed.path)?.cloned();
        let kept = give_back(left, done, &vec![completed_hash.clone()])
            .filter(|value| self.is_usable(root, done, value));
        let mut completed = kept.clone();
        if self.complete && self.has_status(root) {
            let calculated = self.is_calculated(completed_hash.as_ref());
            let truthful = says_done(requested.as_ref(), kept.as_ref()) == calculated;
            let as_found = is_hash(left.get(&done.id, "at"), &self.hash);
            if kept.is_some() && (truthful || as_found) {
                if let Some(kept) = &kept {
                    own.add(&done.id, "left", kept.clone());
                }
                if !truthful {
                    own.add(&done.id, "at", Json::string(&self.hash));
                }
            } else {
                completed = Some(match (&requested, calculated) {
                    (Some(requested), true) => requested.clone(),
                    _ => self.unlike(requested.as_ref(), completed_hash.as_ref()),
                });
                if let Some(completed) = &completed {
                    own.add(&done.id, "derived", completed.clone());
                }
            }
            self.note_absent(root, own)?;
            for place in [&self.status.hashes.completed, &self.status.hashes.requested] {
                self.give_null_back(root, place, left, own)?;
            }
        }
        if let Some(trace) = trace {
            for (place, value) in [(request, &requested), (done, &completed)] {
                let after = value
                    .iter()
                    .map(|value| (place.id.clone(), value.to_text()))
                    .collect::<Vec<_>>();
                if !after.is_empty() {
                    let given_back = own.get(&place.id, "derived").is_none();
                    trace.push(Change {
                        operation: "rollout".to_owned(),
                        before: Vec::new(),
                        after,
                        kept: false,
                        given_back,
                    });
                }
            }
        }
        set(root, request, requested)?;
        set(root, done, completed)
    }

    /// A request that is not completed: named after the hash that is, so that it stays the same until that changes.
    fn unlike<'a>(
        &self,
        requested: Option<&Json<'_>>,
        completed_hash: Option<&Json<'_>>,
    ) -> Json<'a> {
        let hash = completed_hash.and_then(Json::as_str).unwrap_or_default();
        let derived = Json::string(&derive(&hash));
        match requested {
            Some(requested) if same_uuid(requested, &derived) => {
                Json::string(&Uuid::nil().to_string())
            }
            _ => derived,
        }
    }

    /// Which hashes the status did not have: where one is missing later without being noted, somebody dropped it.
    fn note_absent<'a>(&self, root: &mut Json<'a>, own: &mut Kept<'a>) -> Result<(), ConvertError> {
        let mut absent = Vec::new();
        for place in [&self.status.hashes.completed, &self.status.hashes.requested] {
            if tree::get(root, "", &place.path)?.is_none() {
                absent.push(Json::string(&place.id));
            }
        }
        if !absent.is_empty() {
            own.add(&self.status.requests.completed.id, "absent", Json::Array(absent));
        }
        Ok(())
    }

    fn give_null_back<'a>(
        &self,
        root: &mut Json<'a>,
        place: &Place,
        left: &Kept<'_>,
        own: &mut Kept<'a>,
    ) -> Result<(), ConvertError> {
        let now = vec![tree::get(root, "", &place.path)?.cloned()];
        if let Some(given) = left.give_back(&place.id, std::slice::from_ref(place), &now) {
            own.keep(&place.id, &now, &given);
            set(root, place, given.into_iter().next().flatten())?;
        }
        Ok(())
    }

    /// Whether a kept request may come back: into an object that is there, and into a complete one not as null.
    fn is_usable(&self, root: &Json<'_>, place: &Place, value: &Json<'_>) -> bool {
        tree::has_top(root, &place.path) && !(self.complete && value.is_null())
    }

    fn is_calculated(&self, hash: Option<&Json<'_>>) -> bool {
        is_hash(hash.map(Json::view), &self.hash)
    }

    fn has_status(&self, root: &mut Json<'_>) -> bool {
        self.status
            .hashes
            .completed
            .path
            .parent()
            .is_some_and(|status| tree::is_object(root, &status))
    }

    /// The reasons that the conditions give.
    fn reasons(&self, root: &mut Json<'_>) -> Result<Vec<String>, ConvertError> {
        let conditions = match tree::get(root, "", &self.status.reasons)? {
            Some(conditions) => conditions.elements(),
            None => Vec::new(),
        };
        let reason = |condition: &Json<'_>| {
            condition.get("reason").and_then(|reason| reason.as_str().map(|r| r.into_owned()))
        };
        Ok(conditions.iter().filter_map(reason).collect())
    }
}

/// What an older status that carries the newer one's hashes is worth.
#[derive(Clone, Copy)]
enum Carrying {
    /// Nobody wrote the completed request since we did: hashes are what they were, absence included.
    AsLeft,
    /// Somebody completed a request: hashes are worked out anew.
    Nothing,
    /// Nothing is known: values that are there count.
    Values,
}

fn give_back<'a>(left: &Kept<'_>, place: &Place, now: &Vec<Option<Json<'_>>>) -> Option<Json<'a>> {
    let given = left.give_back(&place.id, std::slice::from_ref(place), now)?;
    given.into_iter().next().flatten().map(Json::into_owned)
}

fn set<'a>(
    root: &mut Json<'a>,
    place: &Place,
    value: Option<Json<'a>>,
) -> Result<(), ConvertError> {
    match value {
        Some(value) => tree::put(root, "", &place.path, value, &mut |_: Path, _| {}),
        None => tree::take(root, "", &place.path).map(drop),
    }
}

/// A UUID that stands for a hash, always the same one (RFC 9562 §5.5, the OID name space).
fn derive(hash: &str) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, hash.as_bytes()).to_string()
}

fn is_hash(value: Option<Json<'_>>, hash: &str) -> bool {
    value.is_some_and(|value| value.as_str().is_some_and(|value| value == hash))
}

fn uuid(value: &Json<'_>) -> Option<Uuid> {
    value.as_str().and_then(|text| Uuid::try_parse(&text).ok())
}

/// Whether two values are the same UUID, however they are spelled; or the same value, if they are no UUIDs.
fn same_uuid(one: &Json<'_>, two: &Json<'_>) -> bool {
    match (uuid(one), uuid(two)) {
        (Some(one), Some(two)) => one == two,
        _ => one.same(two),
    }
}

/// Whether the last completed request is the request. Two nil UUIDs say that nothing was ever asked for.
fn says_done(requested: Option<&Json<'_>>, completed: Option<&Json<'_>>) -> bool {
    match (requested.and_then(uuid), completed.and_then(uuid)) {
        (Some(requested), Some(completed)) => requested == completed && !requested.is_nil(),
        _ => false,
    }
}
