//! Placeholders in braces, such as `{to}`, in texts of a definition. `{from}` and `{to}` stand for the versions of a
//! rollout.

use crate::apimachinery::did_you_mean;

/// A piece of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'t> {
    /// Literal text.
    Text(&'t str),
    /// Text between braces that is a valid placeholder name.
    Word(&'t str),
}

/// Splits a text into pieces. Braces around anything but a name are literal text, as in `{2,3}` and `{a="b"}`.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut rest, mut scanned) = (text, 0);
    while let Some(open) = rest.get(scanned..).and_then(|ahead| ahead.find('{')).map(|at| at + scanned) {
        let (before, behind) = rest.split_at(open);
        match word_at(behind) {
            Some((word, after)) => {
                pieces.extend((!before.is_empty()).then_some(Piece::Text(before)));
                pieces.push(Piece::Word(word));
                (rest, scanned) = (after, 0);
            }
            None => scanned = open + 1,
        }
    }
    pieces.extend((!rest.is_empty()).then_some(Piece::Text(rest)));
    pieces
}

/// Splits off the placeholder at the start of a text, braces included.
fn word_at(text: &str) -> Option<(&str, &str)> {
    let (word, after) = text.strip_prefix('{')?.split_once('}')?;
    let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic())
        && word.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_'));
    is_name.then_some((word, after))
}

/// The placeholders of a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Word(word) => Some(word),
        Piece::Text(_) => None,
    })
}

/// Returns whether a placeholder stands for a version of a rollout.
pub fn is_version(word: &str) -> bool {
    [FROM, TO].contains(&word)
}

/// Returns whether a text contains a placeholder for a version of a rollout.
pub fn names_version(text: &str) -> bool {
    words(text).any(is_version)
}

/// Returns an error message if a text contains an unknown placeholder.
pub fn unknown_word(text: &str) -> Option<String> {
    words(text).find(|word| !is_version(word)).map(unknown_placeholder_error)
}

/// The error message for an unknown placeholder.
pub fn unknown_placeholder_error(word: &str) -> String {
    format!("unknown placeholder {{{word}}}{}. {KNOWN}", near_version(word))
}

/// A suggestion for an unknown placeholder.
pub fn near_version(word: &str) -> String {
    did_you_mean(word, [FROM, TO])
}

/// The list of known placeholders, for messages.
pub const KNOWN: &str = "Known variables: {from} and {to}, the versions of the rollout";

/// The placeholder for the version before the rollout.
pub const FROM: &str = "from";
/// The placeholder for the version after the rollout.
pub const TO: &str = "to";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_hold_a_placeholder() {
        use Piece::{Text, Word};
        for (text, wanted) in [
            ("", vec![]),
            ("a", vec![Text("a")]),
            ("{to}", vec![Word("to")]),
            ("a{from}b{to}", vec![Text("a"), Word("from"), Text("b"), Word("to")]),
            ("{{to}}", vec![Text("{"), Word("to"), Text("}")]),
            ("{a{to}", vec![Text("{a"), Word("to")]),
            ("x{2,3}{a=\"b\"}{}{ to }{2}", vec![Text("x{2,3}{a=\"b\"}{}{ to }{2}")]),
            ("{to", vec![Text("{to")]),
            ("\u{e9}{\u{e9}}{t_o-1}", vec![Text("\u{e9}{\u{e9}}"), Word("t_o-1")]),
        ] {
            assert_eq!(pieces(text), wanted, "{text}");
        }
    }

    #[test]
    fn versions_are_placeholders() {
        assert!(names_version("a{to}") && !names_version("{To}{name}") && names_version("{name}{from}"));
    }

    #[test]
    fn unknown_placeholder_gets_a_suggestion() {
        assert_eq!(unknown_word("{to}{from}{1}"), None);
        let known = "Known variables: {from} and {to}, the versions of the rollout";
        assert_eq!(
            unknown_word("{to}{form}").unwrap(),
            format!("unknown placeholder {{form}}, did you mean \"from\"?. {known}")
        );
        assert_eq!(unknown_word("{version}").unwrap(), format!("unknown placeholder {{version}}. {known}"));
    }
}
