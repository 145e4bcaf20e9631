//! The clock of a runner.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use pointsman_rollout::ClockReading;

/// Two clocks: wall clock, and monotonic time since its creation.
#[derive(Clone, Copy, Debug)]
pub struct RolloutClock(Instant);

impl RolloutClock {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> ClockReading {
        // A clock before 1970 counts as 1970.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        ClockReading { wall, steady: self.0.elapsed() }
    }
}
