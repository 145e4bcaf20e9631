//! Suggestions for misspelled words.

/// The end of a sentence: `, did you mean "x"?` if a known word is similar, otherwise a full stop.
pub(super) fn near(word: &str, known: &[&str]) -> String {
    let distances = known.iter().map(|known| (strsim::damerau_levenshtein(known, word), known));
    let near = distances.min().filter(|(distance, _)| *distance <= word.len().max(3) / 2);
    near.map_or_else(|| ".".to_owned(), |(_, near)| format!(", did you mean {near:?}?"))
}
