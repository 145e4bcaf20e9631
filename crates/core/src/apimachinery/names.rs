//! Valid names, keys and values (`apimachinery pkg/util/validation/validation.go`).

/// Returns whether a text is a valid key of a label or an annotation: a name with an optional DNS subdomain
/// (`IsQualifiedName`).
pub fn is_qualified_name(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(is_dns_subdomain) && !name.is_empty() && is_label_value(name)
}

/// Returns whether a text is a valid label value (`IsValidLabelValue`).
pub fn is_label_value(text: &str) -> bool {
    text.len() <= 63
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        && !text.starts_with(['.', '-', '_'])
        && !text.ends_with(['.', '-', '_'])
}

/// Returns whether a text is a valid Service name (RFC 1035). Newer API servers allow a leading digit, older ones do
/// not.
pub(crate) fn is_service_name(text: &str) -> bool {
    is_dns_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase())
}

/// A label of a DNS name, such as the name of a namespace (RFC 1123).
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && !text.contains('.') && is_dns_subdomain(text)
}

/// Returns whether a text is a valid name for most objects (`IsDNS1123Subdomain`).
pub fn is_dns_subdomain(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}
