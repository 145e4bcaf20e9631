//! Numbers as the API server writes them.

/// Writes a number in Go's spelling. A number that Go cannot decode stays as written. Go writes `-0.0` as `-0`, and
/// reads that as the integer 0.
pub(crate) fn decimal(token: &str, out: &mut String) {
    match go_number(token) {
        Some(number) if number == "-0" => out.push('0'),
        Some(number) => out.push_str(&number),
        None => out.push_str(token),
    }
}

/// A number as the API server writes it after reading it: as an int64 if possible, else as a float64, in the spelling
/// of Go's JSON (`sigs.k8s.io/json`; `encoding/json` `floatEncoder`). `1.50` is `1.5`, `1e2` is `100`. `None` if it
/// exceeds a float64, which no API server can read.
pub(crate) fn go_number(token: &str) -> Option<String> {
    if let Ok(number) = token.parse::<i64>() {
        return Some(number.to_string());
    }
    let number: f64 = token.parse().ok()?;
    if !number.is_finite() {
        return None;
    }
    let (size, text) = (number.abs(), digits(number));
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        plain(&text)
    } else {
        Some(text.replacen('e', "e+", usize::from(size >= 1.0)))
    }
}

/// The shortest digits that identify a float, as `d.de5`. Of two that are equally near, Go takes the even one, and Rust
/// the larger.
fn digits(float: f64) -> String {
    let shortest = format!("{float:e}");
    let count = shortest.split('e').next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count();
    let even = format!("{float:.*e}", count.saturating_sub(1));
    if even.parse() == Ok(float) { even } else { shortest }
}

/// The digits without an exponent.
fn plain(digits: &str) -> Option<String> {
    let (digits, power) = digits.split_once('e')?;
    let (sign, digits) = if digits.starts_with('-') { digits.split_at(1) } else { ("", digits) };
    let digits = digits.replace('.', "");
    let power: i32 = power.parse().ok()?;
    let Ok(power) = usize::try_from(power) else {
        let zeros = "0".repeat(usize::try_from(-power - 1).ok()?);
        return Some(format!("{sign}0.{zeros}{digits}"));
    };
    Some(match digits.split_at_checked(power + 1) {
        Some((whole, fraction)) if !fraction.is_empty() => format!("{sign}{whole}.{fraction}"),
        _ => format!("{sign}{digits:0<0$}", power + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::go_number;

    #[test]
    fn tied_floats_round_to_even() {
        // As kube-apiserver 1.36.3 stores them.
        for (sent, stored) in [
            ("1307867423894321.25", "1307867423894321.2"),
            ("1307867423894321.75", "1307867423894321.8"),
            ("-1307867423894321.25", "-1307867423894321.2"),
            ("1e20", "100000000000000000000"),
            ("0.000001", "0.000001"),
            ("-123.50", "-123.5"),
            ("-0.0", "-0"),
            ("1.50e-7", "1.5e-7"),
            ("18446744073709551615", "18446744073709552000"),
        ] {
            assert_eq!(go_number(sent).as_deref(), Some(stored), "{sent}");
        }
    }
}
