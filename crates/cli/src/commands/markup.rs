//! Text in HTML and XML.

/// Escapes text for an element or an attribute. `otherwise` returns the replacement of a character that is invalid or
/// undesirable there.
pub(crate) fn marked_up(text: &str, otherwise: impl Fn(char) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => match otherwise(c) {
                Some(other) => out.push_str(&other),
                None => out.push(c),
            },
        }
    }
    out
}
