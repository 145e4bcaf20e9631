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
    read(text.strip_prefix(['-', '+']).unwrap_or(text), |_| ())
}

/// Parses a duration in Go's syntax (`1m30s`, `500ms`, `0`), as in flags and the `?timeout=` of an API server. Rejects
/// negative durations.
///
/// # Errors
/// [`BadDuration`].
pub fn parse_duration(text: &str) -> Result<Duration, BadDuration> {
    let mut total = Some(Duration::ZERO);
    let is_duration = read(text, |seconds| {
        let part = Duration::try_from_secs_f64(seconds).ok();
        total = total.and_then(|total| total.checked_add(part?));
    });
    total.filter(|_| is_duration).ok_or(BadDuration)
}

/// Parses a duration like Go's `time.ParseDuration`, with sign, to nanoseconds. `None` if the text is no duration, or
/// out of range.
///
/// Source: Go `src/time/format.go`. Go cuts a fraction below a nanosecond off.
pub(crate) fn go_nanoseconds(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    let mut is_empty = true;
    while !rest.is_empty() {
        let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (whole, tail) = rest.split_at(digits(rest));
        let (fraction, tail) = match tail.strip_prefix('.') {
            Some(tail) => tail.split_at(digits(tail)),
            None => ("", tail),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (unit, tail) = NANOSECONDS.iter().find_map(|(unit, length)| Some((*length, tail.strip_prefix(unit)?)))?;
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()?.into() };
        // More digits are below a nanosecond of the longest unit.
        let fraction = fraction.get(..fraction.len().min(18)).unwrap_or_default();
        let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
        let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
        total = total.checked_add(whole.checked_mul(unit)? + part * unit / scale)?;
        if total > i128::from(i64::MAX) + 1 {
            return None;
        }
        (rest, is_empty) = (tail, false);
    }
    i64::try_from(total * sign).ok().filter(|_| !is_empty)
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
const NANOSECONDS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Returns whether a text is a duration without a sign. Passes its parts to `part` in seconds.
fn read(text: &str, mut part: impl FnMut(f64)) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (number, tail) = rest.split_at(number);
        let unit = UNITS.iter().find_map(|(unit, seconds)| Some((tail.strip_prefix(unit)?, seconds)));
        let (Ok(number), Some((tail, seconds))) = (number.parse::<f64>(), unit) else {
            return text == "0";
        };
        part(number * seconds);
        rest = tail;
    }
    !text.is_empty()
}

/// Units and their lengths in seconds. A longer unit precedes its prefixes.
const UNITS: [(&str, f64); 8] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

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
