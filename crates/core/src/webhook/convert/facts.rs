//! Facts about an object from outside of the object.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Facts that a kind conversion may need in addition to the object, by their names in the definition. A snapshot by the
/// caller of the conversion. Cheap to clone.
///
/// # Examples
/// ```
/// use pointsman_core::webhook::Facts;
///
/// let facts: Facts = [("externalDatabase", "true")].into_iter().collect();
/// assert_eq!(facts.get("externalDatabase"), Some("true"));
/// assert_eq!(facts.get("other"), None);
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Facts(Option<Arc<BTreeMap<String, String>>>);

impl Facts {
    /// The value of a fact as text: `true` or `false`. `None` if unknown.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.as_ref()?.get(name).map(String::as_str)
    }

    /// Returns the facts with one value changed.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let mut all = self.0.as_deref().cloned().unwrap_or_default();
        all.insert(name.to_owned(), value.to_owned());
        Self(Some(Arc::new(all)))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Facts {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(facts: I) -> Self {
        let facts: BTreeMap<String, String> =
            facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self((!facts.is_empty()).then(|| Arc::new(facts)))
    }
}
