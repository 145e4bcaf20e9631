//! One spelling for each number.

/// Writes a number as sign, digits without outer zeros, and exponent: `-1.50` as `-15e-1`, `100` as `1e2`, every zero as
/// `0`. A number whose exponent is too large for that stays as it is written.
pub(super) fn decimal(token: &str, out: &mut String) {
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let Ok(exponent) = exponent.trim_start_matches('+').parse::<i64>() else {
        out.push_str(token);
        return;
    };
    let (negative, mantissa) =
        mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - significant.len()).unwrap_or_default();
    let places = i64::try_from(fraction.len()).unwrap_or_default();
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        out.push('0');
        return;
    }
    if negative {
        out.push('-');
    }
    out.push_str(significant);
    out.push('e');
    out.push_str(&exponent.saturating_sub(places).saturating_add(dropped).to_string());
}
