//! How fast objects are written.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::call_error::CallError;

/// The pace of the writes of a roll.
#[derive(Debug)]
pub(super) struct WritePace {
    /// Writes a second.
    rate: f64,
    /// Writes that may be made at once now, and when that was so.
    saved: f64,
    at: Instant,
    /// When the API server was busy last, or the rate became higher since.
    changed: Instant,
}

impl WritePace {
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Self { rate: RATE, saved: BURST, at: now, changed: now }
    }

    /// Waits until the next write may be made.
    pub(super) async fn next(&mut self) {
        self.speed_up();
        self.save();
        if self.saved < 1.0 {
            sleep(Duration::from_secs_f64((1.0 - self.saved) / self.rate)).await;
            self.save();
        }
        self.saved -= 1.0;
    }

    /// Who was not too busy for a while is written to twice as fast again.
    fn speed_up(&mut self) {
        if self.rate < RATE && self.changed.elapsed() > CALM {
            (self.rate, self.changed) = ((self.rate * 2.0).min(RATE), Instant::now());
        }
    }

    fn save(&mut self) {
        let now = Instant::now();
        self.saved = (self.saved + (now - self.at).as_secs_f64() * self.rate).min(BURST);
        self.at = now;
    }

    /// A call failed: whoever is too busy is written to half as fast from then on.
    pub(super) fn failed(&mut self, error: &CallError) {
        if error.code() == Some(429) {
            self.save();
            (self.rate, self.changed) = ((self.rate / 2.0).max(SLOWEST), Instant::now());
            self.saved = self.saved.min(0.0);
        }
    }
}

/// Writes a second: one API server takes hundreds, and each of these has a controller work for minutes.
const RATE: f64 = 10.0;

/// Writes at once, as many as a second brings: a batch that is moved together gets healthy together, and is let go by
/// one write of the status.
const BURST: f64 = 10.0;

/// However busy the API server is: a write in two seconds.
const SLOWEST: f64 = 0.5;

/// So long after the API server was busy last it is written to twice as fast again.
const CALM: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_busy_is_written_to_half_as_fast_for_a_while() {
        let mut pace = WritePace::start();
        pace.failed(&CallError::of_code(422, "", None));
        assert!(pace.rate == RATE && pace.saved == BURST, "{pace:?}");
        for rate in [5.0, 2.5, 1.25, 0.625, 0.5, 0.5] {
            pace.failed(&CallError::of_code(429, "", None));
            assert!(pace.rate == rate && pace.saved == 0.0, "{pace:?}");
        }
        pace.changed -= CALM * 2;
        pace.speed_up();
        assert!(pace.rate == 1.0, "{pace:?}");
        pace.speed_up();
        assert!(pace.rate == 1.0, "not at once: {pace:?}");
    }

    #[test]
    fn writes_come_at_once_and_then_at_their_rate() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (mut pace, began) = (WritePace::start(), Instant::now());
            for _ in 0..15 {
                pace.next().await;
            }
            assert!(began.elapsed() >= Duration::from_millis(490), "{:?}", began.elapsed());
        });
    }
}
