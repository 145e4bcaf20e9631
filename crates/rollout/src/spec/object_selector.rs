//! Selects objects by namespace and labels.

use std::collections::BTreeMap;

use super::document::SelectorSpec;
use pointsman_core::apimachinery::Selector;

/// Objects in some namespaces, with some labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectSelector {
    /// Empty selects all namespaces.
    namespaces: Vec<String>,
    labels: Selector,
}

impl ObjectSelector {
    /// Compiles the selector, or returns the error. The version label cannot select: the rollout changes it.
    pub(crate) fn compile(spec: &SelectorSpec, version_label: &str) -> Result<Self, String> {
        let labels = Selector::parse(spec.labels.as_deref().unwrap_or_default())?;
        if labels.depends_on(version_label) {
            return Err(format!(
                "selector.labels: {labels} contains {version_label}, which the rollout changes: use `from` instead"
            ));
        }
        Ok(Self { namespaces: spec.namespaces.clone(), labels })
    }

    pub(crate) fn holds(&self, namespace: Option<&str>, labels: &BTreeMap<String, String>) -> bool {
        let in_one = || self.namespaces.iter().any(|name| Some(name.as_str()) == namespace);
        (self.namespaces.is_empty() || in_one()) && self.labels.matches(labels)
    }

    /// True if the selection depends on a label.
    pub(crate) fn depends_on(&self, label: &str) -> bool {
        self.labels.depends_on(label)
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.namespaces.is_empty() && self.labels.is_everything()
    }
}
