//! Keys of labels and annotations.

/// Whether this is a key of a label or an annotation: a name, with or without a DNS subdomain before it
/// (`apimachinery pkg/util/validation/validation.go`, `IsQualifiedName`).
pub(super) fn is_qualified_name(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').unwrap_or(("a", key));
    let ends = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let part = |part: &str| {
        ends(part) && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    prefix.len() <= 253
        && name.len() <= 63
        && prefix.split('.').all(part)
        && ends(name)
        && name.chars().all(named)
}
