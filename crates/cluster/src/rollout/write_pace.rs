//! The time of the next write.

use std::time::Duration;

use pointsman_rollout::{ApiCallKind, RateChange, RateLimiter};
use tokio::time::sleep;

use super::clock::RolloutClock;
use crate::call_error::CallError;

/// Limits the write rate of a rollout, with a clock.
#[derive(Debug)]
pub(super) struct WritePace {
    pace: RateLimiter,
    clock: RolloutClock,
}

impl WritePace {
    pub(super) fn start(clock: RolloutClock) -> Self {
        Self { pace: RateLimiter::new(clock.now().steady), clock }
    }

    /// Waits until the next write is allowed. Returns a change of the rate.
    pub(super) async fn next(&mut self) -> Option<RateChange> {
        let change = self.pace.recovers(self.clock.now().steady);
        loop {
            let wait = self.pace.take(self.clock.now().steady);
            if wait.is_zero() {
                return change;
            }
            sleep(wait).await;
        }
    }

    /// Records a failed call: 429 halves the rate.
    pub(super) fn failed(&mut self, error: &CallError) -> Option<RateChange> {
        (error.code() == Some(429)).then(|| self.pace.is_busy(error.retry_after(), self.clock.now().steady)).flatten()
    }

    /// Records the duration of a call.
    pub(super) fn took(&mut self, call: ApiCallKind, time: Duration) -> Option<RateChange> {
        self.pace.took(call, time, self.clock.now().steady)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn writes_burst_then_follow_rate() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (mut pace, began) = (WritePace::start(RolloutClock::start()), Instant::now());
            for _ in 0..15 {
                assert_eq!(pace.next().await, None);
            }
            assert!(began.elapsed() >= Duration::from_millis(490), "{:?}", began.elapsed());
        });
    }

    #[test]
    fn only_throttling_halves_rate() {
        let mut pace = WritePace::start(RolloutClock::start());
        for other in [422, 500, 503] {
            assert_eq!(pace.failed(&CallError::of_code(other, "", None)), None, "{other}");
        }
        let busy = CallError::of_code(429, "", Some(Duration::from_secs(1)));
        let change = pace.failed(&busy).map(|change| change.to_string()).unwrap_or_default();
        assert!(change.contains("writes 5 a second") && change.contains("429"), "{change}");
    }
}
