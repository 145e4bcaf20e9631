//! Facts that mutations depend on: their objects are listed once, then watched.

mod fact_event;
mod fact_state;
mod follow;
mod pace;

pub use fact_event::{FactEvent, FactState};
pub use follow::{follow_facts, with_one_watch};
pub use pace::next_pause;
