//! The name that was meant.

/// `, did you mean "x"?` where one of the names that are known is nearer than all others to the one that was typed: two
/// slips of the fingers at most, and one in a short word, as short words are near to one another. Nothing otherwise.
#[must_use]
pub fn did_you_mean<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    meant_within(typed, known, SLIPS.min(typed.chars().count() / 2))
}

/// The same where so many slips are allowed.
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

/// Of the fingers: beyond that it is another word.
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
