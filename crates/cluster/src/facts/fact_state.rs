//! The observed objects of facts: for each fact, the objects with which it is true.

use std::collections::BTreeSet;
use std::sync::Arc;

use pointsman_core::definition::WatchedFact;
use serde_json::Value;

use super::fact_event::FactState;

/// For each fact, the objects with which it is true.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    facts: FactState,
    /// A fact whose location contains no objects of its resource.
    stray: Option<WatchedFact>,
}

impl Seen {
    /// Without objects.
    pub(super) fn nothing(facts: &[WatchedFact]) -> Self {
        Self { facts: facts.iter().map(|fact| (fact.clone(), Arc::default())).collect(), stray: None }
    }

    /// Records an object. Returns true if a fact changed.
    pub(super) fn saw(&mut self, object: &Value) -> bool {
        self.take(object, |fact| fact.holds(object))
    }

    /// Records the deletion of an object.
    pub(super) fn lost(&mut self, object: &Value) -> bool {
        self.take(object, |_| false)
    }

    fn take(&mut self, object: &Value, is_true: impl Fn(&WatchedFact) -> bool) -> bool {
        let name = named(object);
        if self.stray.is_none() {
            self.stray = self.facts.iter().map(|(fact, _)| fact).find(|fact| !fact.may_be_in(&name.0)).cloned();
        }
        let mut changed = false;
        for (fact, objects) in &mut self.facts {
            let is_true = is_true(fact);
            if objects.contains(&name) == is_true {
                continue;
            }
            changed = true;
            // Readers hold the previous set: it is copied, and changes are rare.
            let objects = Arc::<BTreeSet<_>>::make_mut(objects);
            if is_true {
                objects.insert(name.clone())
            } else {
                objects.remove(&name)
            };
        }
        changed
    }

    /// A fact that can never be true, given the locations of observed objects.
    pub(super) fn stray(&self) -> Option<&WatchedFact> {
        self.stray.as_ref()
    }

    pub(super) fn facts(&self) -> FactState {
        self.facts.clone()
    }
}

fn named(object: &Value) -> (String, String) {
    let text = |member: &str| {
        let found = object.get("metadata").and_then(|metadata| metadata.get(member));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    (text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use pointsman_core::definition::MutatedKind;
    use serde_json::json;

    use super::*;

    fn facts() -> Vec<WatchedFact> {
        let text = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\n\
                    resource: {group: apps, version: v1, kind: Deployment, plural: deployments}\nmutations:\n\
                    - name: moved\n  fact: {resource: nodes, name: x, label: moved, is: 'true'}\n  \
                    always: [{noFlag: --a}]\n";
        MutatedKind::load("s.yaml", text).unwrap().facts()
    }

    #[test]
    fn unwatched_fact_objects_are_reported() {
        let mut seen = Seen::nothing(&facts());
        seen.saw(&json!({"metadata": {"name": "x"}}));
        assert_eq!(seen.stray(), None);
        seen.saw(&json!({"metadata": {"name": "x", "namespace": "n"}}));
        assert_eq!(seen.stray(), facts().first());
    }

    #[test]
    fn only_fact_changes_notify() {
        let mut seen = Seen::nothing(&facts());
        let object = |labels: Value| json!({"metadata": {"name": "a", "labels": labels}});
        assert!(!seen.saw(&object(json!({"moved": "false"}))));
        assert!(seen.saw(&object(json!({"moved": "true"}))));
        assert!(!seen.saw(&object(json!({"moved": "true", "other": "x"}))));
        let known = seen.facts();
        assert!(known[0].1.contains(&(String::new(), "a".to_owned())));
        assert!(seen.lost(&object(json!(null))));
        assert!(!seen.lost(&object(json!(null))));
        assert_eq!((known[0].1.len(), seen.facts()[0].1.len()), (1, 0), "what was told stays as it was");
    }
}
