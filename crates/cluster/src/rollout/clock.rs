//! The time, as plans are told it.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use pointsman_core::rollout::ClockReading;

/// Two clocks: one on the wall, one that began with this.
#[derive(Clone, Copy, Debug)]
pub struct RolloutClock(Instant);

impl RolloutClock {
    /// From now on.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> ClockReading {
        // A clock before 1970 is none.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        ClockReading { wall, steady: self.0.elapsed() }
    }
}
