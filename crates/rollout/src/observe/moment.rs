//! Times as plan input: the planner has no clock.

use std::time::Duration;

use jiff::Timestamp;

/// Longest time in seconds that an API server works on a request, with tolerance for clock differences. Afterwards its
/// effect is visible, or never occurs. Source: `k8s.io/apiserver pkg/server/config.go`, `RequestTimeout`: a minute,
/// unless set by `--request-timeout`.
pub const LONGEST_CALL: u64 = 65;

/// A time on two clocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClockReading {
    /// Seconds since 1970 on the wall clock, which may jump: for stored times.
    pub wall: u64,
    /// Time since the start of the process, monotonic: for times in memory.
    pub steady: Duration,
}

/// A time in the format of Kubernetes: `2026-11-20T10:36:38Z`. Times after the year 9999 give its end.
#[must_use]
pub fn rfc3339(wall: u64) -> String {
    let seconds = i64::try_from(wall).unwrap_or(i64::MAX).min(Timestamp::MAX.as_second());
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// Parses a time in the format of Kubernetes to seconds since 1970. Ignores fractions of a second. Other forms of
/// ISO 8601 are no times of an API server.
pub fn wall(text: &str) -> Option<u64> {
    let is_whole = text.len() >= "1970-01-01T00:00:00Z".len() && text.get(10..11) == Some("T") && text.ends_with('Z');
    let time: Option<Timestamp> = is_whole.then(|| text.parse().ok()).flatten();
    u64::try_from(time?.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_kubernetes_writes_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_171_720, "2026-11-20T10:48:40Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
            assert_eq!(wall(text), Some(seconds), "{text}");
        }
        assert_eq!(wall("2000-02-29T00:00:00.123456Z"), Some(951_782_400));
        for text in ["", "2000-02-29", "2000-02-29T00:00Z", "2000-13-01T00:00:00Z", "2000-02-29T00:00:00+01:00"] {
            assert_eq!(wall(text), None, "{text}");
        }
        for text in ["2000-02-30T00:00:00Z", "2000-02-29 00:00:00Z"] {
            assert_eq!(wall(text), None, "{text}");
        }
    }

    #[test]
    fn every_date_round_trips() {
        for day in (0..80_000).map(|day| day * 86_400 + 77) {
            assert_eq!(wall(&rfc3339(day)), Some(day));
        }
    }

    #[test]
    fn times_beyond_calendar_are_bounded() {
        assert_eq!(rfc3339(u64::MAX), "9999-12-30T22:00:00Z");
        assert_eq!(wall("1969-12-31T23:59:59Z"), None);
    }
}
