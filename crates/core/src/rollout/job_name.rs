//! The names of Jobs.

use super::fleet_rollout::Rollout;
use super::short_hash::short_hash;
use super::status::InFlightObject;
use crate::definition::StepDirection;

/// The Job name of a step: deterministic, and different for each attempt.
pub(super) fn job_name(rollout: &Rollout, reservation: &InFlightObject, step: &str, way: StepDirection) -> String {
    let way = if way == StepDirection::Done { "done" } else { "undone" };
    let attempt = reservation.attempt.to_string();
    let parts = [&rollout.uid, &reservation.uid, &reservation.wave, step, way, &attempt];
    let told: String = parts.iter().map(|part| format!("{part}\0")).collect();
    format!("pointsman-{}", short_hash(&told, DIGITS))
}

/// Bytes of the hash in a name: longer than hashes of Kubernetes, and far below the 63 characters of a label.
const DIGITS: usize = 10;
