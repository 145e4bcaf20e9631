//! Sanitizes text from clients.

use std::fmt::Write;

/// Text from a client, of limited length and with escaped control characters: a log line stays one line, and terminals
/// do not interpret it (compare RUSTSEC-2025-0055).
pub(crate) fn printable(text: &str) -> String {
    let mut result = String::with_capacity(text.len().min(LONGEST));
    for c in text.chars() {
        if result.len() >= LONGEST {
            result.push('…');
            break;
        }
        // U+2028 and the bidirectional controls break or reorder lines without being control characters.
        if c.is_control() || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            // Writing to a String cannot fail.
            let _ = write!(result, "{}", c.escape_default());
        } else {
            result.push(c);
        }
    }
    result
}

/// 1 KiB: enough for a message that names several objects.
const LONGEST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\n\u{1b}[31mb\u{202e}é"), "a\\n\\u{1b}[31mb\\u{202e}é");
    }

    #[test]
    fn long_text_is_cut() {
        let cut = printable(&"é".repeat(4000));
        assert!(cut.ends_with('…') && cut.len() <= LONGEST + '…'.len_utf8(), "{}", cut.len());
    }
}
