//! What is known of the world beside an object.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Facts that a conversion from one kind to another may need beside the object, by the names that the definition gives
/// them: a snapshot, which whoever asks for the conversion has read. Cheap to clone.
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
    /// What a fact is, as text: `true` and `false` for one that holds or not. Nothing where nobody knows.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.as_ref()?.get(name).map(String::as_str)
    }

    /// The same facts, but for one that is as it says.
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
