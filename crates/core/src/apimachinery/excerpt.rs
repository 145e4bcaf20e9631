//! External text in messages and logs.

/// Shortens a text and replaces control characters.
pub fn excerpt(text: &str) -> String {
    // Nearly all texts stay as they are.
    if text.len() <= LENGTH && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut rest = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = rest.by_ref().take(LENGTH).collect();
    if rest.next().is_some() {
        short.push('…');
    }
    short
}

/// The maximum number of characters: enough for a person, small enough for a log.
const LENGTH: usize = 400;
