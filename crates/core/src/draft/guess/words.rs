//! The words of field names, and how similar two names are.

use std::collections::BTreeSet;

/// The words of a camelCase name, in lower case and singular: `emailSANs` is `email` and `san`.
pub(super) fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut before: Option<char> = None;
    for (at, letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            before = None;
            continue;
        }
        let is_next_lower = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        // The plural `s` of an acronym belongs to the acronym.
        let is_plural = letters.get(at + 1) == Some(&'s') && letters.get(at + 2).is_none_or(|c| !c.is_lowercase());
        let begins = match before {
            None => true,
            Some(before) if letter.is_uppercase() => !before.is_uppercase() || is_next_lower && !is_plural,
            Some(_) => false,
        };
        match words.last_mut().filter(|_| !begins) {
            Some(word) => word.extend(letter.to_lowercase()),
            None => words.push(letter.to_lowercase().collect()),
        }
        before = Some(*letter);
    }
    words.into_iter().map(singular).collect()
}

/// The singular of an English word, as far as field names need it.
fn singular(word: String) -> String {
    let stem = |end: &str| word.strip_suffix(end).filter(|stem| stem.len() > 1);
    if let Some(stem) = stem("ies") {
        return format!("{stem}y");
    }
    if ["sses", "xes", "ches", "shes"].iter().any(|end| word.ends_with(end)) {
        return word.strip_suffix("es").unwrap_or(&word).to_owned();
    }
    match stem("s").filter(|stem| !stem.ends_with(['s', 'u'])) {
        Some(stem) => stem.to_owned(),
        None => word,
    }
}

/// How similar two names are, from 0 to 1: equal names, equal words, common words, or a few different letters.
pub(super) fn similarity(one: &str, two: &str) -> f64 {
    if one == two {
        return 1.0;
    }
    let plain = |name: &str| words(name).concat();
    if plain(one) == plain(two) {
        return 0.97;
    }
    let (first, second): (BTreeSet<String>, BTreeSet<String>) =
        (words(one).into_iter().collect(), words(two).into_iter().collect());
    let common = first.intersection(&second).count() as f64;
    let dice = 2.0 * common / (first.len() + second.len()).max(1) as f64;
    if OPPOSITES.iter().any(|[one, two]| opposed(&first, &second, one, two) || opposed(&second, &first, one, two)) {
        return 0.0;
    }
    let (short, long) = if one.len() < two.len() { (plain(one), plain(two)) } else { (plain(two), plain(one)) };
    // `time` and `timestamp` begin alike, without a word in common.
    let is_start = short.len() > 3 && long.starts_with(&short);
    let dice = if is_start { dice.max(0.6) } else { dice };
    let edits = strsim::normalized_damerau_levenshtein(one, two);
    // A typing error changes one letter in eight at most.
    if edits > 0.87 { edits.max(dice) } else { dice }
}

/// Words that make similar names opposite.
const OPPOSITES: [[&str; 2]; 6] = [
    ["after", "before"],
    ["disable", "enable"],
    ["disabled", "enabled"],
    ["end", "start"],
    ["max", "min"],
    ["maximum", "minimum"],
];

fn opposed(first: &BTreeSet<String>, second: &BTreeSet<String>, one: &str, two: &str) -> bool {
    first.contains(one) && second.contains(two) && !first.contains(two) && !second.contains(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_split_into_words() {
        assert_eq!(words("emailSANs"), ["email", "san"]);
        assert_eq!(words("apiServerURL"), ["api", "server", "url"]);
        assert_eq!(words("HTTPPolicies"), ["http", "policy"]);
        assert_eq!(words("externalIPs"), ["external", "ip"]);
        assert_eq!(words("max-size_class"), ["max", "size", "class"]);
        assert_eq!(words("status"), ["status"]);
    }

    #[test]
    fn spelling_hardly_changes_similarity() {
        assert!(similarity("resourcepool", "resourcePool") > 0.9);
        assert!(similarity("flavorUsage", "flavorsUsage") > 0.9);
        assert!(similarity("pastExexcutionTime", "pastExecutionTime") > 0.9);
        assert!(similarity("host", "port") < 0.5);
        assert!(similarity("maxSize", "minSize") < 0.1);
    }
}
