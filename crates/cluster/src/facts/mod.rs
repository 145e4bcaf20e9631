//! Facts that stages hang on: the objects that say them are listed once and watched from there on.

mod fact_event;
mod fact_state;
mod follow;
mod pace;

pub use fact_event::{FactEvent, FactState};
pub use follow::{follow_facts, with_one_watch};
pub use pace::next_pause;
