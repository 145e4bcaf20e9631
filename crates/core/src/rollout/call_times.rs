//! How long calls of one sort take, and whether that is more than it was.

use std::collections::VecDeque;
use std::time::Duration;

/// How long calls of one sort took: at the beginning, and lately.
#[derive(Clone, Debug, Default)]
pub(super) struct CallTimes {
    /// The p99 of the beginning; nothing before there were enough of them.
    at_first: Option<Duration>,
    /// The last of them, the oldest first: when each ended, and how long it took.
    last: VecDeque<(Duration, Duration)>,
}

/// Calls that were slow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SlowCalls {
    /// Of so many.
    pub(super) of: usize,
    /// Two took so long, or longer.
    pub(super) took: Duration,
    /// What that was at the beginning.
    pub(super) at_first: Duration,
}

impl CallTimes {
    /// Another one took so long. Returns what is slow, if something is.
    pub(super) fn took(&mut self, time: Duration, now: Duration) -> Option<SlowCalls> {
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
        if self.last.len() == SAMPLE && took * SLOWER < at_first {
            // It was the beginning that was slow.
            self.at_first = Some(took);
        }
        (took > at_first.max(UNFELT) * SLOWER).then_some(SlowCalls { of: self.last.len(), took, at_first })
    }

    /// What was seen lately has been heeded. A beginning that has not ended yet was not calm: it begins anew.
    pub(super) fn forget(&mut self) {
        self.last.clear();
    }

    /// The slowest but one.
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

/// Calls of which the slowest but one is the p99 (the 99th of 100, by nearest rank), so that one slow call is never
/// enough. Of fewer it is a lower percentile: where that is over a bound, the p99 is as well.
pub(super) const SAMPLE: usize = 100;

/// What is older says nothing of now. At the full pace 100 writes take 10 s; at the slowest one this has 30 of them.
const RECENT: Duration = Duration::from_secs(60);

/// How many times as long as at the beginning is slow.
const SLOWER: u32 = 2;

/// Twice this is not felt: writes are made one after the other, so that at ten a second each has 100 ms.
const UNFELT: Duration = Duration::from_millis(50);
