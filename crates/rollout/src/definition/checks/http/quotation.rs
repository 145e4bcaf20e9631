//! Encoding of texts in addresses.

/// Percent-encodes a text for a path or a query, so that any text is a single value (RFC 3986, 2.3).
#[must_use]
pub fn quoted_in_address(text: &str) -> String {
    let sign = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_quoted() {
        assert_eq!(quoted_in_address("a.b/c in (x, y),!d"), "a.b%2Fc%20in%20%28x%2C%20y%29%2C%21d");
    }
}
