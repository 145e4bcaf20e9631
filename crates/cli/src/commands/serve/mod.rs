//! The flags of `pointsman serve`. What it does is the binary's.

mod args;
mod limits;

pub use args::ServeArgs;
pub use limits::LimitArgs;
