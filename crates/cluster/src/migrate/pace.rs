//! How many writes are under way at a time: as many as the API server takes without becoming slower.

use std::time::Duration;

/// Additive increase, multiplicative decrease (Chiu and Jain, 1989), by what a write takes.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    max_in_flight: f64,
    most: f64,
    /// What a write took when it was quick, in seconds. Goes up slowly, since a quiet minute says little of the next.
    quick: f64,
}

impl Pace {
    /// Begins with one.
    pub(super) fn new(most: u16) -> Self {
        Self { max_in_flight: 1.0, most: f64::from(most.max(1)), quick: f64::INFINITY }
    }

    /// How many may be under way.
    pub(super) fn max_in_flight(&self) -> usize {
        // Between 1 and 65535.
        self.max_in_flight as usize
    }

    /// A write took so long.
    pub(super) fn took(&mut self, time: Duration) {
        let time = time.as_secs_f64();
        self.quick = if time < self.quick { time } else { self.quick + (time - self.quick) * RISE };
        if time > self.quick.max(UNFELT) * SLOWER {
            self.max_in_flight = (self.max_in_flight - 1.0 / self.max_in_flight).max(1.0);
        } else {
            self.max_in_flight = (self.max_in_flight + 1.0 / self.max_in_flight).min(self.most);
        }
    }

    /// The API server wants to be left alone.
    pub(super) fn refused(&mut self) {
        self.max_in_flight = (self.max_in_flight / 2.0).max(1.0);
    }
}

/// The share of a difference that moves what is called quick: some ten thousand writes, so that our own load does not
/// pass for the server's usual pace.
const RISE: f64 = 0.00002;

/// How many times as long as a quick write is slow.
const SLOWER: f64 = 3.0;

/// Differences below this are noise of the network.
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
