//! Runs rolls: what `pointsman-core` says is to be written next, is.

mod all;
mod beside;
mod clean;
mod clock;
mod collection;
mod controllers;
mod elsewhere;
mod error;
mod events;
mod fleet;
mod fleet_watch;
mod freeze;
mod lease;
mod local_times;
mod lookups;
mod other_clusters;
mod others;
mod outside;
mod pending_writes;
mod replacement;
mod runner;
mod store;
mod survey;
#[cfg(test)]
mod tests;
mod versions;
mod write_pace;
mod writes;
mod writes_elsewhere;

pub use all::run_rolls;
pub use clean::{Cleaned, clean_roll};
pub use clock::RollClock;
pub use error::RollError;
pub use freeze::unfreezable;
pub use local_times::unknown_zone;
pub use runner::{RollEvent, RollOptions, run_roll};
pub use store::{change_roll, forward_again, get_roll, list_rolls, set_in_roll, set_next, start_roll};
pub use survey::{RollSurvey, SurveyAsks, SurveyOptions, survey_roll};
pub use versions::running_versions;
