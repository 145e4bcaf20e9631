//! Durations in the syntax of Go's `time.ParseDuration`, and as a regular expression for the API server.

use std::time::Duration;

/// A text that is no duration: neither `0` nor numbers with units.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a duration: use forms such as 500ms, 20s, 1m30s")]
pub struct BadDuration;

/// The regular expression of [`is_duration`], for CEL's `matches`.
pub(crate) const DURATION: &str = r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";

/// `1h30m`, `1.5s`, `-1ms`, `0`.
pub(crate) fn is_duration(text: &str) -> bool {
    read(text.strip_prefix(['-', '+']).unwrap_or(text), |_, _, _| ())
}

/// Parses a duration in Go's syntax (`1m30s`, `500ms`, `0`), as in flags and the `?timeout=` of an API server. Rejects
/// negative durations.
///
/// # Errors
/// [`BadDuration`].
pub fn parse_duration(text: &str) -> Result<Duration, BadDuration> {
    let nanoseconds = nanoseconds(text).ok_or(BadDuration)?;
    let seconds = u64::try_from(nanoseconds / NANOS_PER_SECOND).map_err(|_| BadDuration)?;
    let rest = u32::try_from(nanoseconds % NANOS_PER_SECOND).map_err(|_| BadDuration)?;
    Ok(Duration::new(seconds, rest))
}

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Parses a duration like Go's `time.ParseDuration`, with sign, to nanoseconds. `None` if the text is no duration, or
/// out of range.
///
/// Source: Go `src/time/format.go`. Go cuts a fraction below a nanosecond off.
pub(crate) fn go_nanoseconds(text: &str) -> Option<i64> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (-1, unsigned),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    i64::try_from(nanoseconds(unsigned)? * sign).ok()
}

/// The nanoseconds of a duration without a sign, in any range.
fn nanoseconds(text: &str) -> Option<i128> {
    let mut total: Option<i128> = Some(0);
    let is_duration = read(text, |whole, fraction, unit| {
        total = total.and_then(|total| total.checked_add(part(whole, fraction, unit)?));
    });
    total.filter(|_| is_duration)
}

/// The nanoseconds of a number with a unit. `None` if out of range.
fn part(whole: &str, fraction: &str, unit: i128) -> Option<i128> {
    let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<i64>().ok().map(i128::from) };
    // More digits are below a nanosecond of the longest unit.
    let fraction = fraction.get(..fraction.len().min(18)).unwrap_or_default();
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    Some(number(whole)? * unit + number(fraction)? * unit / scale)
}

/// Returns whether a text is a duration without a sign. Passes each part to `part`: the digits before and after the
/// point, and the unit in nanoseconds.
fn read(text: &str, mut part: impl FnMut(&str, &str, i128)) -> bool {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut rest = text;
    while !rest.is_empty() {
        let (whole, tail) = rest.split_at(digits(rest));
        let (fraction, tail) = match tail.strip_prefix('.') {
            Some(tail) => tail.split_at(digits(tail)),
            None => ("", tail),
        };
        let unit = UNITS.iter().find_map(|(unit, length)| Some((*length, tail.strip_prefix(unit)?)));
        let (Some((unit, tail)), false) = (unit, whole.is_empty() && fraction.is_empty()) else {
            return text == "0";
        };
        part(whole, fraction, unit);
        rest = tail;
    }
    !text.is_empty()
}

/// Writes nanoseconds like Go's `Duration.String`: `1h0m0s`, `1.5s`, `250ms`, `0s`.
pub(crate) fn go_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    let decimal = |value: u64, unit: u64| {
        let (whole, fraction) = (value / unit, value % unit);
        let width = unit.ilog10() as usize;
        let text = format!("{whole}.{fraction:0width$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match total {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{total}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", decimal(total, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", decimal(total, 1_000_000)),
        _ => {
            let seconds = decimal(total % 60_000_000_000, 1_000_000_000);
            let minutes = total / 60_000_000_000;
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// Units and their lengths in nanoseconds. A longer unit precedes its prefixes.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of Go's `ParseDuration` and `String`.
    #[test]
    fn go_durations_round_trip() {
        for (text, nanoseconds, printed) in [
            ("0", 0, "0s"),
            ("5m", 300_000_000_000, "5m0s"),
            ("1h", 3_600_000_000_000, "1h0m0s"),
            ("90s", 90_000_000_000, "1m30s"),
            ("-1.5s", -1_500_000_000, "-1.5s"),
            ("+1.5h", 5_400_000_000_000, "1h30m0s"),
            (".5ms", 500_000, "500µs"),
            ("1.000000001s", 1_000_000_001, "1.000000001s"),
            ("0.1ns", 0, "0s"),
            ("2562047h47m16.854775807s", i64::MAX, "2562047h47m16.854775807s"),
            ("-2562047h47m16.854775808s", i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(go_nanoseconds(text), Some(nanoseconds), "{text}");
            assert_eq!(go_duration(nanoseconds), printed, "{text}");
            assert_eq!(go_nanoseconds(printed), Some(nanoseconds), "{printed}");
        }
        for text in ["", "-", "5", "s", ".s", "1x", "1s2", "--1s", "2562047h47m16.854775808s", "99999999999999999999h"]
        {
            assert_eq!(go_nanoseconds(text), None, "{text}");
        }
    }

    #[test]
    fn durations_print_like_go() {
        for (text, millis) in
            [("0", 0), ("30s", 30_000), ("1m30s", 90_000), ("1.5s", 1_500), ("250ms", 250), ("1h0m0.5s", 3_600_500)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
            assert!(is_duration(text) && is_duration(&format!("-{text}")), "{text}");
        }
        for text in ["", "30", "s", "1x", "1s2", "1s0", "00", ".s", "1..2s", "--1s"] {
            assert_eq!(parse_duration(text), Err(BadDuration), "{text}");
            assert!(!is_duration(text), "{text}");
        }
        for text in ["-1s", "99999999999999999999h"] {
            assert_eq!(parse_duration(text), Err(BadDuration), "{text}");
            assert!(is_duration(text), "{text}");
        }
    }
}
