//! Words that somebody may have meant.

/// `, did you mean "x"?` where a word is near to one that is known.
pub(super) fn near(word: &str, known: &[&str]) -> String {
    let distances = known.iter().map(|known| (strsim::damerau_levenshtein(known, word), known));
    let near = distances.min().filter(|(distance, _)| *distance <= word.len().max(3) / 2);
    near.map(|(_, near)| format!(", did you mean {near:?}?")).unwrap_or_default()
}
