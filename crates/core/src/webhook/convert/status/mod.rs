//! How the status of two versions speaks of the same rollout: by hashes in the newer one, by request UUIDs in the
//! older.
//!
//! Going up, hashes that the older status carries are kept as long as nobody wrote the completed request: a new request
//! alone never moves the status, a controller that records a completion does. Going down, the completed request tells
//! the truth: it equals the request exactly when the completed hash is the one calculated from the spec.
//!
//! An object whose spec has the hash `aa…`, at the older version with a controller that speaks in requests; `x` and `y`
//! are UUIDs, and `u(h)` is the UUID that stands for the hash `h`:
//!
//! ```text
//!                                requestRollout  lastCompleted…Request  lastCompleted…Hash  requested…Hash
//! 1 written by people                         x                      x
//!   up: done, so both are `aa…`                                                        aa…             aa…
//! 2 the spec is changed at the newer version to one with the hash `bb…`                aa…             aa…
//!   down: `aa…` is not `bb…`, so not done     x                  u(aa…)                aa…             aa…
//! 3 somebody asks for a rollout               y                  u(aa…)                aa…             aa…
//!   up: the request alone moves nothing                                                aa…             aa…
//! 4 the older controller rolls out            y                      y                 aa…             aa…
//!   up: it wrote a completion: worked out anew                                         bb…             bb…
//! ```
//!
//! The request that is not in the newer version is kept. What was made up (`u(aa…)`) is kept as *derived*: on the way
//! back the same value means that nobody wrote it.

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
