//! Suggestions for misspelled words.

use pointsman_core::did_you_mean;

/// The end of a sentence: `, did you mean "x"?` if a known word is similar, otherwise a full stop.
pub(crate) fn near(word: &str, known: &[&str]) -> String {
    let meant = did_you_mean(word, known.iter().copied());
    if meant.is_empty() { ".".to_owned() } else { meant }
}
