//! What the Job of a step is called.

use sha2::{Digest, Sha256};

use super::fleet_roll::FleetRoll;
use super::status::Reservation;
use crate::definition::StepWay;

/// The name of the Job of a step: the same one for whoever looks for it, and another one for another attempt.
pub(super) fn job_name(roll: &FleetRoll, reservation: &Reservation, step: &str, way: StepWay) -> String {
    let mut hash = Sha256::new();
    let way = if way == StepWay::Done { "done" } else { "undone" };
    let attempt = reservation.attempt.to_string();
    for part in [&roll.uid, &reservation.uid, &reservation.wave, step, way, &attempt] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digits: String = hash.finalize().iter().take(DIGITS).map(|byte| format!("{byte:02x}")).collect();
    format!("pointsman-{digits}")
}

/// Bytes of the hash in a name: as long as Kubernetes' own hashes need not be, and far below the 63 characters of a
/// label.
const DIGITS: usize = 10;
