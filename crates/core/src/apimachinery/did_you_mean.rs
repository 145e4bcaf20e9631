//! Suggestions for misspelt names.

/// Returns `, did you mean "x"?` if one known name is closer than all others to the typed name: at most two edits,
/// fewer in short words, which are close to one another. Empty otherwise.
#[must_use]
pub fn did_you_mean<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    meant_within(typed, known, SLIPS.min(typed.chars().count() / 2))
}

/// Like `did_you_mean`, with another maximum number of edits.
pub(crate) fn meant_within<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>, far: usize) -> String {
    let slips = |name: &str| strsim::osa_distance(typed, name);
    let mut near: Vec<(usize, &str)> = known.into_iter().map(|name| (slips(name), name)).collect();
    near.sort_unstable();
    near.dedup();
    match near.as_slice() {
        [(slips, name), rest @ ..]
            if *slips <= far && *slips < typed.len() && rest.first().is_none_or(|next| next.0 > *slips) =>
        {
            format!(", did you mean {name:?}?")
        }
        _ => String::new(),
    }
}

/// The maximum number of edits.
const SLIPS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_is_meant_or_none() {
        let meant = |typed: &str| did_you_mean(typed, ["v1alpha1", "v1alpha2", "v1"]);
        assert_eq!(meant("v1alhpa2"), ", did you mean \"v1alpha2\"?");
        assert_eq!(meant("v1alpha3"), "", "both are as near");
        assert_eq!(meant("v2beta1"), "");
        assert_eq!(meant("x"), "", "any short name is near to it");
        assert_eq!(did_you_mean("mat", ["mzs"]), "");
        assert_eq!(did_you_mean("mzt", ["mzs"]), ", did you mean \"mzs\"?");
    }
}
