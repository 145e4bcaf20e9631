//! Durations of one kind of call, compared with the start of the run.

use std::collections::VecDeque;
use std::time::Duration;

/// Durations of one kind of call: at the start, and recently.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallTimes {
    /// The p99 at the start; `None` until enough calls ended.
    at_first: Option<Duration>,
    /// Recent calls, oldest first: end time and duration.
    last: VecDeque<(Duration, Duration)>,
}

/// Slow calls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SlowCalls {
    /// The number of calls.
    pub(crate) of: usize,
    /// The duration reached by two of them.
    pub(crate) took: Duration,
    /// The duration at the start.
    pub(crate) at_first: Duration,
}

impl CallTimes {
    /// Adds a call. Returns the slow calls, if any.
    pub(crate) fn took(&mut self, time: Duration, now: Duration) -> Option<SlowCalls> {
        if self.last.len() == SAMPLE {
            self.last.pop_front();
        }
        self.last.push_back((now, time));
        let Some(at_first) = self.at_first else {
            if self.last.len() == SAMPLE {
                self.at_first = self.second_slowest();
                self.last.clear();
            }
            return None;
        };
        while self.last.front().is_some_and(|(ended, _)| now.saturating_sub(*ended) > RECENT) {
            self.last.pop_front();
        }
        let took = self.second_slowest()?;
        if self.last.len() == SAMPLE && took * SLOW_FACTOR < at_first {
            // The start was slow.
            self.at_first = Some(took);
        }
        (took > at_first.max(TOLERABLE) * SLOW_FACTOR).then_some(SlowCalls { of: self.last.len(), took, at_first })
    }

    /// Forgets recent calls after a reaction. An incomplete start was overloaded, and begins again.
    pub(crate) fn forget(&mut self) {
        self.last.clear();
    }

    /// The second slowest duration.
    fn second_slowest(&self) -> Option<Duration> {
        let (mut first, mut second) = (None, None);
        for (_, time) in &self.last {
            if Some(*time) > first {
                (first, second) = (Some(*time), first);
            } else if Some(*time) > second {
                second = Some(*time);
            }
        }
        second
    }
}

/// Sample size: the second slowest is the p99 (the 99th of 100, by nearest rank), so a single slow call is
/// insufficient. With fewer calls it is a lower percentile: if that exceeds a bound, so does the p99.
pub(crate) const SAMPLE: usize = 100;

/// Age limit of recent calls. 100 writes take 10 s at the full rate; at the slowest rate (`rate_limiter.rs`), 30
/// writes.
const RECENT: Duration = Duration::from_secs(60);

/// Factor over the start duration that counts as slow.
const SLOW_FACTOR: u32 = 2;

/// Durations up to twice this value are tolerable: sequential writes at ten per second have 100 ms each.
const TOLERABLE: Duration = Duration::from_millis(50);
