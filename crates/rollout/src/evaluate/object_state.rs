//! The state of an object in a rollout.

use std::time::Duration;

/// The state of an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ObjectState {
    /// At the old version, and not in flight.
    Old,
    /// In flight, before its own write.
    Reserved,
    /// In flight and not healthy yet, with the failing condition.
    Moving(String),
    /// In flight and healthy, for too short a time yet.
    Settling,
    /// At the new version.
    New,
    /// Not healthy in time, or rolled back for that reason.
    Failed(String),
    /// Another client owns its label.
    Held(String),
    /// Temporarily blocked.
    Waiting(String),
    /// Permanently blocked.
    Refused(String),
    /// At a version outside of the rollout.
    Outside,
    /// Terminating.
    Deleted,
}

impl ObjectState {
    /// As one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Old => "Pending",
            Self::Reserved | Self::Moving(_) => "InFlight",
            Self::Settling => "Settling",
            Self::New => "Updated",
            Self::Failed(_) => "Failed",
            Self::Held(_) => "Held",
            Self::Waiting(_) => "Waiting",
            Self::Refused(_) => "Refused",
            Self::Outside => "Outside",
            Self::Deleted => "Gone",
        }
    }

    /// The reason; can be empty.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Moving(why) | Self::Failed(why) | Self::Held(why) | Self::Waiting(why) | Self::Refused(why) => why,
            _ => "",
        }
    }
}

/// A duration as text.
pub(crate) fn shown(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds > 0 && seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds > 0 && seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}
