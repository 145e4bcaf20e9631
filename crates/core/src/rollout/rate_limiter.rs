//! How fast a rollout writes: never faster than its bound, and half as fast while the API server shows that this is too
//! much, by saying so or by taking longer than it did at first.
//!
//! Decided by what calls took and by a clock that is told, so that it has neither.

use std::fmt;
use std::time::Duration;

use super::call_times::{CallTimes, SAMPLE, SlowCalls};

/// The pace of a rollout: how many writes a second are let through. Points in time are told by a clock that never
/// jumps.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    /// Writes a second.
    rate: f64,
    /// Writes that may be made at once, and when that was so.
    saved: f64,
    at: Duration,
    /// When the rate was changed last, or was found to be too high once more.
    changed: Duration,
    /// Before this nothing is asked: the API server has said so.
    rests: Duration,
    objects: CallTimes,
    statuses: CallTimes,
    looks: CallTimes,
}

/// What was timed. Each takes its own time, with its own webhooks, and is compared with its own beginning.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ApiCallKind {
    /// A patch of an object.
    Object,
    /// A write of the status of the StagedRollout.
    Status,
    /// A read of the StagedRollout.
    Look,
}

/// The pace is another one from now on. It prints as a line for whoever watches.
#[derive(Clone, Debug, PartialEq)]
pub struct RateChange {
    /// Writes a second.
    rate: f64,
    why: PaceReason,
}

/// Why it is another one.
#[derive(Clone, Debug, PartialEq)]
enum PaceReason {
    /// The API server says that it is too busy.
    Busy,
    /// Calls of this sort are slow.
    Slow(ApiCallKind, SlowCalls),
    /// It was calm for a while.
    Calm,
}

impl RateLimiter {
    /// Begins at the bound.
    #[must_use]
    pub fn new(now: Duration) -> Self {
        Self {
            rate: RATE,
            saved: BURST,
            at: now,
            changed: now,
            rests: now,
            objects: CallTimes::default(),
            statuses: CallTimes::default(),
            looks: CallTimes::default(),
        }
    }

    /// Writes a second, at most.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Takes the next write. Returns how long it has to wait; where that is no time at all, it is to be made now, and
    /// is counted.
    pub fn take(&mut self, now: Duration) -> Duration {
        self.save(now);
        let rests = self.rests.saturating_sub(now);
        if self.saved >= 1.0 && rests.is_zero() {
            self.saved -= 1.0;
            return Duration::ZERO;
        }
        let missing = (1.0 - self.saved).max(0.0) / self.rate;
        // Never nothing: whoever waits asks again afterwards.
        Duration::from_secs_f64(missing).max(rests).max(TICK)
    }

    /// Time has gone by: whoever was neither too busy nor slow for a while is written to twice as fast again.
    pub fn recovers(&mut self, now: Duration) -> Option<RateChange> {
        if self.rate >= RATE || now.saturating_sub(self.changed) < CALM {
            return None;
        }
        self.becomes((self.rate * 2.0).min(RATE), PaceReason::Calm, now)
    }

    /// The API server was too busy for a call (429), and may have said how long it wants to be left alone.
    pub fn is_busy(&mut self, retry_after: Option<Duration>, now: Duration) -> Option<RateChange> {
        self.save(now);
        self.saved = self.saved.min(0.0);
        self.rests = self.rests.max(now + retry_after.unwrap_or_default().min(LONGEST));
        self.forget();
        self.becomes((self.rate / 2.0).max(SLOWEST), PaceReason::Busy, now)
    }

    /// A call has ended, and took so long.
    pub fn took(&mut self, call: ApiCallKind, time: Duration, now: Duration) -> Option<RateChange> {
        // What was under way when the pace changed says nothing of the new one yet.
        if self.rate < RATE && now.saturating_sub(self.changed) < HEED {
            return None;
        }
        let times = match call {
            ApiCallKind::Object => &mut self.objects,
            ApiCallKind::Status => &mut self.statuses,
            ApiCallKind::Look => &mut self.looks,
        };
        let slow = times.took(time, now)?;
        self.save(now);
        self.saved = self.saved.min(0.0);
        self.forget();
        self.becomes((self.rate / 2.0).max(SLOWEST), PaceReason::Slow(call, slow), now)
    }

    fn forget(&mut self) {
        [&mut self.objects, &mut self.statuses, &mut self.looks].into_iter().for_each(CallTimes::forget);
    }

    fn becomes(&mut self, rate: f64, why: PaceReason, now: Duration) -> Option<RateChange> {
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
                "writes {rate} a second at most from now on: the API server is slow. Of the last {of} {call}, two took \
                 {} ms or more; at the beginning that was {} ms, of {SAMPLE}",
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
            Self::Look => "reads of the StagedRollout",
        })
    }
}

/// Writes a second: one API server takes hundreds, and each of these has a controller work for minutes.
const RATE: f64 = 10.0;

/// Writes at once, as many as a second brings: a batch that is moved together gets healthy together, and is let go by
/// one write of the status.
const BURST: f64 = 10.0;

/// However busy the API server is: a write in two seconds.
const SLOWEST: f64 = 0.5;

/// So long after the pace was changed last it is twice as fast again.
const CALM: Duration = Duration::from_secs(30);

/// So long after the pace was changed nothing is judged by what calls take: what waits in the queues of an API server
/// is older than that, and one stall, such as a new leader of etcd, which takes seconds, halves it once and not to the
/// floor.
const HEED: Duration = Duration::from_secs(10);

/// An API server asks for seconds. Whoever asks for longer is heard for this long.
const LONGEST: Duration = Duration::from_secs(60);

/// The least that is waited.
const TICK: Duration = Duration::from_millis(1);
