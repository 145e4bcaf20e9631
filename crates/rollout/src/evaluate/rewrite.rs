//! Storage migration: a rollout that stores every object again, in the current storage version of its CRD.
//!
//! The stored version of an object is not readable. Observable are the rollout's annotation on a written object, and a
//! CRD that is unchanged since before the first write. Objects written since then are stored in the storage version.

use serde_json::Value;

use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;
use crate::observe::moment::{ClockReading, wall};
use crate::observe::status::RolloutStatus;
use crate::spec::rollout::Rollout;

/// The lookup of a storage migration.
pub(crate) fn crd_lookup(rollout: &Rollout) -> Option<LookupRequest> {
    rollout.stores.as_deref().map(LookupRequest::of_crd)
}

/// The reason why written objects would not be stored in the target version, if so.
pub(crate) fn not_stored(rollout: &Rollout, answers: &LookupResults) -> Option<String> {
    let (name, to) = (rollout.stores.as_deref()?, rollout.to());
    let crd = match seen_crd(rollout, answers)? {
        Ok(crd) => crd,
        Err(why) => return Some(why),
    };
    let list = |path: &str| crd.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is = |version: &Value, member: &str| version.get(member) == Some(&Value::Bool(true));
    let named = |version: &Value| version.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let stored = list("/spec/versions").iter().find(|version| is(version, "storage"));
    match stored {
        Some(stored) if named(stored) != to => {
            return Some(format!("the CRD {name} stores {}: change its storage version to {to} first", named(stored)));
        }
        Some(stored) if is(stored, "served") => {}
        _ => return Some(format!("the CRD {name} does not serve {to}, so no object could be written")),
    }
    let others = list("/status/storedVersions").iter().any(|version| version != to);
    let is_converted = crd.pointer("/spec/conversion/strategy").is_some_and(|strategy| strategy == "Webhook");
    (others && !is_converted).then(|| {
        format!(
            "the CRD {name} has stored other versions without a conversion webhook: values that exist only in \
                 these versions would be lost"
        )
    })
}

/// The reason why a rewrite must wait: the CRD, or the propagation of its storage version.
pub(crate) fn rewrite_gate(
    rollout: &Rollout,
    status: &RolloutStatus,
    answers: &LookupResults,
    now: ClockReading,
) -> Option<String> {
    rollout.stores.as_ref()?;
    if let Some(why) = not_stored(rollout, answers) {
        return Some(why);
    }
    let since = status.stored.as_ref().and_then(|stored| wall(&stored.since)).filter(|since| *since <= now.wall);
    let has_propagated = since.is_some_and(|since| now.wall >= since.saturating_add(PROPAGATED_WITHIN));
    (!has_propagated).then(|| {
        format!(
            "waiting up to {PROPAGATED_WITHIN} s until every API server uses {} as the storage version",
            rollout.to()
        )
    })
}

/// The observed CRD, or the error. `None` if the rollout needs no CRD.
pub(crate) fn seen_crd<'a>(rollout: &Rollout, answers: &'a LookupResults) -> Option<Result<&'a Value, String>> {
    let (lookup, name) = (crd_lookup(rollout)?, rollout.stores.as_deref()?);
    Some(match answers.of(&lookup.about) {
        None => Err(format!("the CRD {name} was not read yet")),
        Some(Err(why)) => Err(format!("the CRD {name} cannot be read: {why}")),
        Some(Ok(found)) => found.whole.as_ref().ok_or_else(|| format!("the CRD {name} does not exist")),
    })
}

/// Seconds. API servers watch CRDs, and receive a change within one; `pointsman migrate` waits as long (`--settle`).
const PROPAGATED_WITHIN: u64 = 10;
