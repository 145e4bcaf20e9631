//! Durations as Go's `time.ParseDuration` takes them: for us, and for the API server's regular expressions.

/// The same as [`is_duration`], for CEL's `matches`.
pub(crate) const DURATION: &str = r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";

/// `1h30m`, `1.5s`, `-1ms`, `0`.
pub(crate) fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (digits, unit) = rest.split_at(number);
        if !digits.contains(|c: char| c.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return false;
        }
        let Some(tail) =
            ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].iter().find_map(|known| unit.strip_prefix(known))
        else {
            return false;
        };
        rest = tail;
    }
    true
}
