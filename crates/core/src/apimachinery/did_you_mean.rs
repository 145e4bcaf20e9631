//! The name that was meant.

/// `, did you mean "x"?` where one of the names that are known is nearer than all others to the one that was typed, and
/// at most `far` slips of the fingers from it: beyond that it is another word. Nothing otherwise.
#[must_use]
pub fn did_you_mean<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>, far: usize) -> String {
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

/// Two slips of the fingers: beyond that it is another word.
pub const SLIPS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_is_meant_or_none() {
        let meant = |typed: &str| did_you_mean(typed, ["v1alpha1", "v1alpha2", "v1"], 2);
        assert_eq!(meant("v1alhpa2"), ", did you mean \"v1alpha2\"?");
        assert_eq!(meant("v1alpha3"), "", "both are as near");
        assert_eq!(meant("v2beta1"), "");
        assert_eq!(meant("x"), "", "any short name is near to it");
    }
}
