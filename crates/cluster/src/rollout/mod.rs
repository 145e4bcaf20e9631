//! Runs rollouts: what `pointsman-core` says is to be written next, is.

mod rollout_set;
mod object_steps;
mod clean;
mod clock;
mod collection;
mod controllers;
mod remote_lookups;
mod error;
mod events;
mod fleet;
mod fleet_watch;
mod freeze;
mod lease;
mod local_times;
mod lookups;
mod other_clusters;
mod other_rollouts;
mod http_prober;
mod pending_writes;
mod replacement;
mod runner;
mod status_store;
mod snapshot;
#[cfg(test)]
mod tests;
mod versions;
mod write_pace;
mod writes;
mod writes_elsewhere;

pub use rollout_set::run_rollouts;
pub use clean::{Cleaned, clean_rollout};
pub use clock::RolloutClock;
pub use error::RolloutError;
pub use freeze::unfreezable;
pub use local_times::unknown_zone;
pub use runner::{RolloutEvent, RolloutOptions, run_rollout};
pub use status_store::{change_rollout, forward_again, get_rollout, list_rollouts, set_in_rollout, set_next, start_rollout};
pub use snapshot::{FleetSnapshot, SnapshotOptions, SurveyOptions, survey_rollout};
pub use versions::running_versions;
