//! Facts that stages hang on: the objects that say them are listed once and watched from there on.

mod follow;
mod news;
mod pace;
mod seen;

pub use follow::{follow_facts, with_one_watch};
pub use news::{FactEvent, FactState};
pub use pace::next_pause;
