//! Adapts the number of concurrent writes to the speed of the API server.

use std::time::Duration;

/// Additive increase, multiplicative decrease (Chiu and Jain, 1989), by write duration.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    max_in_flight: f64,
    most: f64,
    /// The duration of a fast write, in seconds. Rises slowly, since a quiet minute predicts little.
    quick: f64,
}

impl Pace {
    /// Starts with one.
    pub(super) fn new(most: u16) -> Self {
        Self { max_in_flight: 1.0, most: f64::from(most.max(1)), quick: f64::INFINITY }
    }

    /// The allowed number of concurrent writes.
    pub(super) fn max_in_flight(&self) -> usize {
        // Between 1 and 65535.
        self.max_in_flight as usize
    }

    /// Records the duration of a write.
    pub(super) fn took(&mut self, time: Duration) {
        let time = time.as_secs_f64();
        self.quick = if time < self.quick { time } else { self.quick + (time - self.quick) * RISE };
        if time > self.quick.max(UNFELT) * SLOWER {
            self.max_in_flight = (self.max_in_flight - 1.0 / self.max_in_flight).max(1.0);
        } else {
            self.max_in_flight = (self.max_in_flight + 1.0 / self.max_in_flight).min(self.most);
        }
    }

    /// Records an overloaded API server.
    pub(super) fn refused(&mut self) {
        self.max_in_flight = (self.max_in_flight / 2.0).max(1.0);
    }
}

/// Rise of the fast duration per write: it adapts over some ten thousand writes, so that the migration's own load does
/// not count as normal.
const RISE: f64 = 0.00002;

/// Factor over the fast duration that counts as slow.
const SLOWER: f64 = 3.0;

/// Smaller differences are network noise.
const UNFELT: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(most: u16, latency: impl Fn(usize) -> u64) -> usize {
        let mut pace = Pace::new(most);
        for _ in 0..5_000 {
            pace.took(Duration::from_millis(latency(pace.max_in_flight())));
        }
        pace.max_in_flight()
    }

    #[test]
    fn steady_server_gets_full_rate() {
        assert_eq!(settled(8, |_| 20), 8);
        assert_eq!(settled(1, |_| 20), 1);
        assert_eq!(settled(0, |_| 20), 1);
    }

    #[test]
    fn slowing_server_gets_less() {
        let max_in_flight = settled(32, |max_in_flight| 20 * max_in_flight as u64);
        assert!((2..=5).contains(&max_in_flight), "{max_in_flight}");
    }

    #[test]
    fn throttled_client_halves_rate() {
        let mut pace = Pace::new(8);
        (0..200).for_each(|_| pace.took(Duration::from_millis(10)));
        let seen = [0; 5].map(|_| {
            let max_in_flight = pace.max_in_flight();
            pace.refused();
            max_in_flight
        });
        assert_eq!(seen, [8, 4, 2, 1, 1]);
    }
}
