//! The names of Jobs.

use crate::observe::short_hash::short_hash;
use crate::observe::status::InFlightObject;
use crate::spec::rollout::Rollout;
use pointsman_core::definition::StepDirection;

/// The Job name of a step: deterministic, and different for each attempt.
pub(crate) fn job_name(rollout: &Rollout, in_flight_object: &InFlightObject, step: &str, way: StepDirection) -> String {
    let way = if way == StepDirection::Done { "done" } else { "undone" };
    let attempt = in_flight_object.attempt.to_string();
    let parts = [&rollout.uid, &in_flight_object.uid, &in_flight_object.wave, step, way, &attempt];
    let text: String = parts.iter().map(|part| format!("{part}\0")).collect();
    format!("pointsman-{}", short_hash(&text, DIGITS))
}

/// Bytes of the hash in a name: longer than hashes of Kubernetes, and far below the 63 characters of a label.
const DIGITS: usize = 10;
