//! Limits the write rate of a rollout: at most the configured rate, halved while the API server is overloaded. Signs of
//! overload are 429 responses, and calls slower than at the start.
//!
//! Decides from call durations and time arguments; it has no clock.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// The write rate of a rollout. Time arguments are readings of a monotonic clock.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    /// Writes per second.
    rate: f64,
    /// Writes allowed at once, and the time of that count.
    saved: f64,
    at: Duration,
    /// The last change of the rate, or the last confirmation that it is too high.
    changed: Duration,
    /// End of the pause from `Retry-After`.
    is_inactive: Duration,
    objects: CallTimes,
    statuses: CallTimes,
    reads: CallTimes,
}

/// A kind of timed API call. Each kind passes its own webhooks, and is compared with its own durations at the start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ApiCallKind {
    /// A patch of an object.
    Object,
    /// A write of the status of the StagedRollout.
    Status,
    /// A read of the StagedRollout.
    Read,
}

/// A change of the rate. Displays as a progress line.
#[derive(Clone, Debug, PartialEq)]
pub struct RateChange {
    /// Writes per second.
    rate: f64,
    why: PaceReason,
}

/// The reason of a change.
#[derive(Clone, Debug, PartialEq)]
enum PaceReason {
    /// The API server returned 429.
    Busy,
    /// Calls of this kind are slow.
    Slow(ApiCallKind, SlowCalls),
    /// A period without overload.
    Calm,
}

impl RateLimiter {
    /// Starts at the maximum rate.
    #[must_use]
    pub fn new(now: Duration) -> Self {
        Self {
            rate: RATE,
            saved: BURST,
            at: now,
            changed: now,
            is_inactive: now,
            objects: CallTimes::default(),
            statuses: CallTimes::default(),
            reads: CallTimes::default(),
        }
    }

    /// The maximum number of writes per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Requests the next write. Returns the time to wait; zero permits and counts the write.
    pub fn take(&mut self, now: Duration) -> Duration {
        self.save(now);
        let is_inactive = self.is_inactive.saturating_sub(now);
        if self.saved >= 1.0 && is_inactive.is_zero() {
            self.saved -= 1.0;
            return Duration::ZERO;
        }
        let missing = (1.0 - self.saved).max(0.0) / self.rate;
        // At least one tick: the caller repeats the request afterwards.
        Duration::from_secs_f64(missing).max(is_inactive).max(TICK)
    }

    /// Doubles the rate after a period without overload.
    pub fn recovers(&mut self, now: Duration) -> Option<RateChange> {
        if self.rate >= RATE || now.saturating_sub(self.changed) < CALM {
            return None;
        }
        self.replaces((self.rate * 2.0).min(RATE), PaceReason::Calm, now)
    }

    /// Handles a 429 response, with its optional `Retry-After`.
    pub fn is_busy(&mut self, retry_after: Option<Duration>, now: Duration) -> Option<RateChange> {
        self.save(now);
        self.saved = self.saved.min(0.0);
        self.is_inactive = self.is_inactive.max(now + retry_after.unwrap_or_default().min(LONGEST));
        self.forget();
        self.replaces((self.rate / 2.0).max(SLOWEST), PaceReason::Busy, now)
    }

    /// Records the duration of a finished call.
    pub fn took(&mut self, call: ApiCallKind, time: Duration, now: Duration) -> Option<RateChange> {
        // Calls that began before the last change predate the new rate.
        if self.rate < RATE && now.saturating_sub(self.changed) < HEED {
            return None;
        }
        let times = match call {
            ApiCallKind::Object => &mut self.objects,
            ApiCallKind::Status => &mut self.statuses,
            ApiCallKind::Read => &mut self.reads,
        };
        let slow = times.took(time, now)?;
        self.save(now);
        self.saved = self.saved.min(0.0);
        self.forget();
        self.replaces((self.rate / 2.0).max(SLOWEST), PaceReason::Slow(call, slow), now)
    }

    fn forget(&mut self) {
        [&mut self.objects, &mut self.statuses, &mut self.reads].into_iter().for_each(CallTimes::forget);
    }

    fn replaces(&mut self, rate: f64, why: PaceReason, now: Duration) -> Option<RateChange> {
        let is_other = (self.rate - rate).abs() > f64::EPSILON;
        (self.rate, self.changed) = (rate, now);
        is_other.then_some(RateChange { rate, why })
    }

    fn save(&mut self, now: Duration) {
        self.saved = (self.saved + now.saturating_sub(self.at).as_secs_f64() * self.rate).min(BURST);
        self.at = self.at.max(now);
    }
}

impl fmt::Display for RateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, why } = self;
        match why {
            PaceReason::Calm => write!(f, "writes {rate} a second again at most"),
            PaceReason::Busy => {
                write!(f, "writes {rate} a second at most from now on: the API server is too busy (429)")
            }
            PaceReason::Slow(call, SlowCalls { of, took, at_first }) => write!(
                f,
                "writes at most {rate} a second from now on: the API server is slow. Of the last {of} {call}, \
                     two took {} ms or more; at the start this was {} ms, for {SAMPLE} calls",
                took.as_millis(),
                at_first.as_millis(),
            ),
        }
    }
}

impl fmt::Display for ApiCallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Object => "patches of objects",
            Self::Status => "writes of the status",
            Self::Read => "reads of the StagedRollout",
        })
    }
}

/// Writes per second. An API server handles hundreds, but each of these writes keeps a controller busy for minutes.
const RATE: f64 = 10.0;

/// Writes at once, equal to one second: a batch that moves together becomes healthy together, and is released by one
/// status write.
const BURST: f64 = 10.0;

/// Minimum rate: one write in two seconds.
const SLOWEST: f64 = 0.5;

/// Time after the last change before the rate doubles.
const CALM: Duration = Duration::from_secs(30);

/// Time after a change in which call durations are ignored: queued calls are older. So one stall of seconds, such as an
/// etcd leader election, halves the rate only once.
const HEED: Duration = Duration::from_secs(10);

/// Limit for `Retry-After`, which is usually seconds.
const LONGEST: Duration = Duration::from_secs(60);

/// Minimum wait.
const TICK: Duration = Duration::from_millis(1);

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
