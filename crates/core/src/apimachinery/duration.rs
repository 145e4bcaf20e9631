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
