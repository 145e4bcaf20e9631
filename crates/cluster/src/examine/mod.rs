//! What is registered for admission, who answers there, and how they were started: a look, and nothing is written.

mod examining;
mod running;

pub use examining::{Examined, RegisteredFinding, examine};
pub use running::RunningServer;
