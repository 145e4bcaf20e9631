//! Runs rollouts: performs the writes planned by `pointsman-core`.

mod clean;
mod clock;
mod collection;
mod controllers;
mod error;
mod events;
mod fleet;
mod fleet_watch;
mod freeze;
mod http_prober;
mod lease;
mod local_times;
mod lookups;
mod object_steps;
mod other_clusters;
mod other_rollouts;
mod pending_writes;
mod remote_lookups;
mod replacement;
mod rollout_set;
mod runner;
mod snapshot;
mod status_store;
#[cfg(test)]
mod tests;
mod versions;
mod write_pace;
mod writes;
mod writes_elsewhere;

pub use clean::{Cleaned, clean_rollout};
pub use clock::RolloutClock;
pub use error::RolloutError;
pub use freeze::unfreezable;
pub use local_times::unknown_zone;
pub use rollout_set::run_rollouts;
pub use runner::{RolloutEvent, RolloutOptions, run_rollout};
pub use snapshot::{FleetSnapshot, SnapshotOptions, SurveyOptions, survey_rollout};
pub use status_store::{
    change_rollout, forward_again, get_rollout, list_rollouts, set_in_rollout, set_next, start_rollout,
};
pub use versions::running_versions;
