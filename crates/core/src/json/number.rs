//! Numbers as the API server leaves them.

/// Writes a number in Go's spelling; what Go cannot read stays as it is written.
pub(super) fn decimal(token: &str, out: &mut String) {
    match go_number(token) {
        Some(number) => out.push_str(&number),
        None => out.push_str(token),
    }
}

/// A number as the API server writes it after reading it: as an int64 where it is one, else as a float64, in the spelling
/// of Go's JSON (`sigs.k8s.io/json`; `encoding/json` `floatEncoder`). `1.50` is `1.5`, `1e2` is `100`. `None` if it is
/// beyond a float64, which no API server can read.
pub(crate) fn go_number(token: &str) -> Option<String> {
    if let Ok(number) = token.parse::<i64>() {
        return Some(number.to_string());
    }
    let number: f64 = token.parse().ok()?;
    if !number.is_finite() {
        return None;
    }
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        return Some(text.replacen('e', "e+", usize::from(size >= 1.0)));
    }
    Some(format!("{number}"))
}
