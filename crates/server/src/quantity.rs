//! Durations as Go writes them, and quantities of bytes as Kubernetes writes them.

use std::time::Duration;

/// A text that is no duration or size.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// Neither `0` nor numbers with units.
    #[error("not a duration: use forms such as 500ms, 20s, 1m30s")]
    Duration,
    /// Not a whole number with an optional suffix.
    #[error("not a size: use bytes or forms such as 512Ki, 64Mi, 1Gi")]
    Size,
}

/// Parses a duration in Go's spelling (`1m30s`, `500ms`, `0`), which flags and the `?timeout=` of an API server use.
/// Negative durations do not exist here.
///
/// # Errors
/// [`QuantityError::Duration`].
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(QuantityError::Duration)?;
        let (number, tail) = rest.split_at(digits);
        let unit_len = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, after) = tail.split_at(unit_len);
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return Err(QuantityError::Duration),
        };
        let number: f64 = number.parse().map_err(|_| QuantityError::Duration)?;
        let part = Duration::try_from_secs_f64(number * seconds).map_err(|_| QuantityError::Duration)?;
        total = total.checked_add(part).ok_or(QuantityError::Duration)?;
        if after.is_empty() {
            return Ok(total);
        }
        rest = after;
    }
}

/// Parses a size in bytes in the spelling of Kubernetes quantities (`64Mi`, `8M`, `1048576`).
///
/// # Errors
/// [`QuantityError::Size`].
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor: u64 = match suffix {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return Err(QuantityError::Size),
    };
    let number: u64 = number.parse().map_err(|_| QuantityError::Size)?;
    number.checked_mul(factor).ok_or(QuantityError::Size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_go_writes_them() {
        for (text, millis) in
            [("0", 0), ("30s", 30_000), ("1m30s", 90_000), ("1.5s", 1_500), ("250ms", 250), ("1h0m0.5s", 3_600_500)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "30", "s", "-1s", "1x", "1s2", "1..2s", "99999999999999999999h"] {
            assert_eq!(parse_duration(text), Err(QuantityError::Duration), "{text}");
        }
    }

    #[test]
    fn sizes_as_kubernetes_writes_them() {
        for (text, bytes) in [("0", 0), ("1024", 1024), ("64Mi", 64 << 20), ("8M", 8_000_000), ("1Gi", 1 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "Mi", "-1", "1.5Mi", "1mi", "99999999999Gi"] {
            assert_eq!(parse_size(text), Err(QuantityError::Size), "{text}");
        }
    }
}
