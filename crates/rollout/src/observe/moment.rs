//! Times as plan input: the planner has no clock.

use std::time::Duration;

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

/// A time in the format of Kubernetes: `2026-11-20T10:36:38Z`.
#[must_use]
pub fn rfc3339(wall: u64) -> String {
    let (days, second) = (wall / DAY, wall % DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Parses a time in the format of Kubernetes to seconds since 1970. Ignores fractions of a second.
pub fn wall(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.split('-').map(|part| part.parse::<u64>().ok());
    let mut next = || date.next().flatten();
    let (year, month, day) = (next()?, next()?, next()?);
    let time = time.split_once('.').map_or(time, |(time, _)| time);
    let mut time = time.split(':').map(|part| part.parse::<u64>().ok());
    let mut next = || time.next().flatten();
    let (hour, minute, second) = (next()?, next()?, next()?);
    let fits = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    (fits && hour < 24 && minute < 60 && second < 61)
        .then(|| days(year, month, day) * DAY + hour * 3600 + minute * 60 + second)
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar. The year begins in March here, so
/// that the leap day is its last day (Howard Hinnant, `chrono-Compatible Low-Level Date Algorithms`).
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + TO_1970;
    let (era, of_era) = (days / ERA, days % ERA);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// The inverse.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - TO_1970
}

/// Seconds.
const DAY: u64 = 86_400;
/// Days in 400 years.
const ERA: u64 = 146_097;
/// Days from the first of March of the year 0 to 1970.
const TO_1970: u64 = 719_468;

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
    }

    #[test]
    fn every_date_round_trips() {
        for day in (0..80_000).map(|day| day * DAY + 77) {
            assert_eq!(wall(&rfc3339(day)), Some(day));
        }
    }
}
