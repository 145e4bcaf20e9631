//! Quantities in the format of Kubernetes.
//!
//! Source: `apimachinery pkg/api/resource/quantity.go` and `suffix.go`.

/// A text that is no size: no whole number with an optional suffix.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a size: use bytes or forms such as 512Ki, 64Mi, 1Gi")]
pub struct BadSize;

/// Parses a size in bytes in the format of Kubernetes quantities (`64Mi`, `8M`, `1048576`).
///
/// # Errors
/// [`BadSize`].
pub fn parse_size(text: &str) -> Result<u64, BadSize> {
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
        _ => return Err(BadSize),
    };
    let number: u64 = number.parse().map_err(|_| BadSize)?;
    number.checked_mul(factor).ok_or(BadSize)
}

/// The pattern that controller-gen writes for quantities.
pub(crate) const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// The number of units of a quantity, rounded away from zero as `Quantity.Value` does. A unit is a fraction: numerator
/// and denominator. `None` if the text is no quantity, or if the number exceeds 64 bits.
pub(crate) fn units_of_quantity(text: &str, (numerator, denominator): (i64, i64)) -> Option<i64> {
    let (is_negative, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // A second point is no digit.
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (factor, power) = match BINARY.iter().position(|binary| *binary == suffix) {
        Some(index) => (1024_i128.pow(u32::try_from(index + 1).ok()?), 0),
        None => (1, decimal_power(suffix)?),
    };
    let power = power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let tens = 10_i128.checked_pow(power.unsigned_abs())?;
    let (above, below) = if power < 0 { (1, tens) } else { (tens, 1) };
    let above = digits.checked_mul(factor)?.checked_mul(above)?.checked_mul(denominator.into())?;
    let below = below.checked_mul(numerator.into())?;
    let units = above / below + i128::from(above % below != 0);
    i64::try_from(if is_negative { -units } else { units }).ok()
}

/// The power of ten of a decimal suffix or an exponent.
fn decimal_power(suffix: &str) -> Option<i32> {
    if let Some(index) = DECIMAL.iter().position(|decimal| *decimal == suffix) {
        return Some(3 * i32::try_from(index).ok()? - 9);
    }
    suffix.strip_prefix(['e', 'E'])?.parse().ok()
}

/// A number of bytes as Kubernetes writes it: with the largest binary suffix that leaves no rest.
pub(crate) fn binary_quantity(bytes: i64) -> String {
    match bytes.unsigned_abs() < 1024 {
        true => with_suffix(bytes, 1000, &DECIMAL[NO_SUFFIX..]),
        false => with_suffix(bytes, 1024, &[&[""], &BINARY[..]].concat()),
    }
}

/// A number of thousandths as Kubernetes writes it: with the largest decimal suffix that leaves no rest.
pub(crate) fn milli_quantity(thousandths: i64) -> String {
    with_suffix(thousandths, 1000, &DECIMAL[NO_SUFFIX - 1..])
}

fn with_suffix(mut number: i64, base: i64, suffixes: &[&str]) -> String {
    if number == 0 {
        return "0".to_owned();
    }
    let mut suffixes = suffixes.iter().copied();
    let mut suffix = suffixes.next().unwrap_or_default();
    while number % base == 0
        && let Some(next) = suffixes.next()
    {
        number /= base;
        suffix = next;
    }
    format!("{number}{suffix}")
}

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// The index of the empty suffix.
const NO_SUFFIX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_does() {
        // As `ParseQuantity` of apimachinery 0.37.2, with `Value` and `MilliValue`. It saturates beyond 64 bits.
        for (text, value, thousandths) in [
            ("1", Some(1), Some(1000)),
            ("1.5", Some(2), Some(1500)),
            ("1.5Gi", Some(1_610_612_736), Some(1_610_612_736_000)),
            ("0.1", Some(1), Some(100)),
            ("100m", Some(1), Some(100)),
            ("1u", Some(1), Some(1)),
            ("1e3", Some(1000), Some(1_000_000)),
            ("1E3", Some(1000), Some(1_000_000)),
            ("1E", Some(1_000_000_000_000_000_000), None),
            ("+1", Some(1), Some(1000)),
            ("-1.5", Some(-2), Some(-1500)),
            (".5", Some(1), Some(500)),
            ("5.", Some(5), Some(5000)),
            ("1Ki", Some(1024), Some(1_024_000)),
            ("9223372036854775807", Some(i64::MAX), None),
            ("1e-3", Some(1), Some(1)),
            ("0.0001", Some(1), Some(1)),
            ("1Ei", Some(1 << 60), None),
            ("8Ei", None, None),
            ("1e19", None, None),
            ("1500n", Some(1), Some(1)),
            ("1ki", None, None),
            ("1K", None, None),
            ("", None, None),
            (".", None, None),
            ("1e", None, None),
            ("1.1.1", None, None),
            ("1e1.5", None, None),
            (" 1", None, None),
            ("--1", None, None),
            ("1e999999999", None, None),
        ] {
            assert_eq!(units_of_quantity(text, (1, 1)), value, "{text}");
            assert_eq!(units_of_quantity(text, (1, 1000)), thousandths, "{text}");
        }
    }

    #[test]
    fn quantities_are_written_as_kubernetes_does() {
        // As `NewQuantity(_, BinarySI)` and `NewMilliQuantity(_, DecimalSI)` of apimachinery 0.37.2.
        for (number, binary, milli) in [
            (0, "0", "0"),
            (999, "999", "999m"),
            (1000, "1k", "1"),
            (1023, "1023", "1023m"),
            (1024, "1Ki", "1024m"),
            (2000, "2000", "2"),
            (1_610_612_736, "1536Mi", "1610612736m"),
            (1 << 60, "1Ei", "1152921504606846976m"),
            (-1024, "-1Ki", "-1024m"),
            (-1000, "-1k", "-1"),
            (i64::MAX, "9223372036854775807", "9223372036854775807m"),
            (1_000_000, "1000000", "1k"),
            (1_048_576_000, "1000Mi", "1048576"),
        ] {
            assert_eq!((binary_quantity(number).as_str(), milli_quantity(number).as_str()), (binary, milli));
        }
    }

    #[test]
    fn sizes_as_kubernetes_writes_them() {
        for (text, bytes) in [("0", 0), ("1024", 1024), ("64Mi", 64 << 20), ("8M", 8_000_000), ("1Gi", 1 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "Mi", "-1", "1.5Mi", "1mi", "99999999999Gi"] {
            assert_eq!(parse_size(text), Err(BadSize), "{text}");
        }
    }
}
