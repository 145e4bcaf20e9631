//! Facts that stages hang on: the objects that say them are listed once and watched from there on.

mod follow;
mod fact_event;
mod pace;
mod fact_state;

pub use follow::{follow_facts, with_one_watch};
pub use fact_event::{FactEvent, FactState};
pub use pace::next_pause;
