//! Converts the rollout in the status of two versions: hashes in the newer version, request UUIDs in the older version.
//!
//! In a conversion up, the hashes in the older status stay while no controller wrote the completed request. A new
//! request alone does not change the status; a recorded completion does. In a conversion down, the completed request
//! equals the request exactly if the completed hash is that of the spec.
//!
//! An object with the hash `aa…` of its spec, at the older version with a controller that uses requests. `x` and `y`
//! are UUIDs, and `u(h)` is the UUID that represents the hash `h`:
//!
//! ```text
//!                                requestRollout  lastCompleted…Request  lastCompleted…Hash  requested…Hash
//! 1 written by people                         x                      x
//!   up: done, so both are `aa…`                                                        aa…             aa…
//! 2 the spec is changed at the newer version to one with the hash `bb…`                aa…             aa…
//!   down: `aa…` is not `bb…`, so not done     x                  u(aa…)                aa…             aa…
//! 3 a client requests a rollout               y                  u(aa…)                aa…             aa…
//!   up: the request alone has no effect                                                aa…             aa…
//! 4 the older controller rolls out            y                      y                 aa…             aa…
//!   up: it wrote a completion: derived again                                           bb…             bb…
//! ```
//!
//! The request is kept, because the newer version lacks it. A derived value (`u(aa…)`) is marked as *derived*: if it is
//! unchanged in the conversion back, no client wrote it.

mod down;
mod explain;
mod fields;
mod requests;
mod up;

pub(super) use down::down;
pub(super) use explain::Traced;
pub(super) use fields::StatusConversion;
pub(super) use requests::RolloutRequests;
pub(super) use up::up;
