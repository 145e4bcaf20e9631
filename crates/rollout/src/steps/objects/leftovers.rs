//! The saved state of a deleted object, which its replacement makes obsolete.

use super::observed_object::{
    BECAME, ObservedObject, WORKFLOW_LABEL, annotation, is_terminating, list, observed, recreations, text,
};
use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;
use crate::observe::status::InFlightObject;
use crate::spec::rollout::Rollout;
use crate::steps::step_action::resource;
use crate::steps::writes::object_write::{ObjectCall, ObjectWrite, Propagation};
use pointsman_core::apimachinery::ResourceName;

/// Lookups of saved state of a deleted object, and of its replacement.
pub(crate) fn leftover_lookups(rollout: &Rollout, in_flight_object: &InFlightObject) -> Vec<LookupRequest> {
    let Some(pair) = rollout.pair.as_deref() else { return Vec::new() };
    let (namespace, name) = in_flight_object.place();
    let both = [&pair.source, &pair.target].map(|kind| LookupRequest::of_paired(kind, namespace, name));
    let saved = saves(rollout).then(|| saved_state_lookup(namespace, &in_flight_object.uid));
    saved.into_iter().chain(both).collect()
}

/// The next API call that removes leftovers of a deleted object. `None` without leftovers.
///
/// # Errors
/// The leftovers are unknown or terminating, as a message.
pub(crate) fn leftovers(
    rollout: &Rollout,
    in_flight_object: &InFlightObject,
    answers: &LookupResults,
) -> Result<Option<ObjectWrite>, String> {
    let Some(pair) = rollout.pair.as_deref().filter(|_| saves(rollout)) else { return Ok(None) };
    let (namespace, name) = in_flight_object.place();
    match observed(answers, &LookupRequest::of_paired(&pair.source, namespace, name)) {
        ObservedObject::Unknown(why) => return Err(why),
        ObservedObject::There(object) | ObservedObject::Terminating(object)
            if text(object, "/metadata/uid") == in_flight_object.uid =>
        {
            return Err("exists".to_owned());
        }
        ObservedObject::There(_) | ObservedObject::Terminating(_) | ObservedObject::Absent => {}
    }
    if let ObservedObject::Unknown(why) = observed(answers, &LookupRequest::of_paired(&pair.target, namespace, name)) {
        return Err(why);
    }
    if !is_replaced(rollout, in_flight_object, answers) {
        // The saved state may be the only copy of a Deployment.
        return Ok(None);
    }
    let saved = list(answers, &saved_state_lookup(namespace, &in_flight_object.uid))?;
    let Some(object) = saved.first() else { return Ok(None) };
    let revisions = revisions();
    let name = text(object, "/metadata/name").to_owned();
    if is_terminating(object) {
        return Err(format!("{revisions} {name} is being deleted"));
    }
    Ok(Some(ObjectWrite {
        plural: revisions.plural,
        group: revisions.group,
        version: None,
        cluster: None,
        namespace: namespace.map(str::to_owned),
        name,
        call: ObjectCall::Delete {
            uid: text(object, "/metadata/uid").to_owned(),
            resource_version: text(object, "/metadata/resourceVersion").to_owned(),
            propagation: Propagation::Background,
            replacement: None,
        },
        of: in_flight_object.object.clone(),
        uid: in_flight_object.uid.clone(),
    }))
}

/// The title of the first saved object of a deleted object.
pub(crate) fn kept_of(rollout: &Rollout, in_flight_object: &InFlightObject, answers: &LookupResults) -> Option<String> {
    let (namespace, _) = in_flight_object.place();
    let saved = list(answers, &saved_state_lookup(namespace, &in_flight_object.uid)).ok()?.first()?;
    let place = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
    saves(rollout).then(|| format!("{} {place}{}", revisions(), text(saved, "/metadata/name")))
}

/// True if the replacement of a deleted object exists.
pub(crate) fn is_replaced(rollout: &Rollout, in_flight_object: &InFlightObject, answers: &LookupResults) -> bool {
    let Some(pair) = rollout.pair.as_deref() else { return false };
    let (namespace, name) = in_flight_object.place();
    let target = observed(answers, &LookupRequest::of_paired(&pair.target, namespace, name));
    matches!(target, ObservedObject::There(object) if annotation(object, BECAME) == Some(in_flight_object.uid.as_str()))
}

/// True if a step saves state that is obsolete once the object is deleted.
fn saves(rollout: &Rollout) -> bool {
    recreations(rollout.workflow_steps()).next().is_some()
}

fn saved_state_lookup(namespace: Option<&str>, uid: &str) -> LookupRequest {
    LookupRequest::of_metadata(&revisions(), namespace, &format!("{WORKFLOW_LABEL}={uid}"))
}

/// The resource of saved state.
pub(in crate::steps) fn revisions() -> ResourceName {
    resource("controllerrevisions", "apps")
}
