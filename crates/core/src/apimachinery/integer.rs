//! Bounds of integers.

/// Returns whether API servers can use a bound of an integer of a format. They read bounds as float64: the largest
/// int64 becomes 2^63, which is outside, and they refuse the smallest one too. With another bound, they refuse each
/// value (`kube-openapi pkg/validation/validate/values.go`, `IsValueValidAgainstRange`).
pub(crate) fn is_integer_bound(format: &str, bound: f64) -> bool {
    let is_inside = match format {
        "int32" => (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&bound),
        _ => bound.abs() < INT64_END,
    };
    is_inside && bound.fract() == 0.0
}

/// 2^63, the first number beyond int64.
pub(crate) const INT64_END: f64 = 9_223_372_036_854_775_808.0;
