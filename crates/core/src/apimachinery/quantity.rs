//! Quantities of bytes in the format of Kubernetes.

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

#[cfg(test)]
mod tests {
    use super::*;

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
