//! The progress annotation of a migration on the CRD, for the next run.

use serde_json::{Value, json};

use crate::crd_state::CrdState;

/// The resourceVersion since which every client writes the storage version.
///
/// Objects with a newer resourceVersion need no rewrite, regardless of the writer and of interrupted runs. So no other
/// state is needed: no continue token, no list of finished objects.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Mark {
    /// The uid of the CRD: the annotation is invalid on a recreated or restored CRD.
    uid: String,
    /// The generation of the CRD: after a change of its spec, versions written by other clients are unknown.
    generation: u64,
    storage: String,
    /// A resourceVersion of the collection. These are comparable within a resource (KEP-5504; previously etcd's
    /// revision).
    since: u64,
}

impl Mark {
    pub(super) fn new(crd: &CrdState, since: &str) -> Option<Self> {
        let (uid, storage) = (crd.uid().to_owned(), crd.storage().to_owned());
        Some(Self { uid, generation: crd.generation(), storage, since: since.parse().ok()? })
    }

    /// The valid annotation of an earlier run.
    pub(crate) fn of(crd: &CrdState) -> Option<Self> {
        let value: Value = serde_json::from_str(crd.annotation(ANNOTATION)?).ok()?;
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let (uid, storage) = (text("uid")?, text("storage")?);
        let mark = Self { uid, generation: number("generation")?, storage, since: number("since")? };
        let now = (crd.uid(), crd.generation(), crd.storage());
        ((mark.uid.as_str(), mark.generation, mark.storage.as_str()) == now).then_some(mark)
    }

    /// True if an object with this resourceVersion was written since.
    pub(crate) fn covers(&self, resource_version: &str) -> bool {
        resource_version.parse::<u64>().is_ok_and(|version| version > self.since)
    }

    /// A merge patch of the CRD that adds it.
    pub(super) fn patch(&self) -> Value {
        let Self { uid, generation, storage, since } = self;
        let mark = json!({"uid": uid, "generation": generation, "storage": storage, "since": since});
        annotate(json!(mark.to_string()))
    }
}

/// A merge patch of the CRD that removes it.
pub(super) fn unmark() -> Value {
    annotate(Value::Null)
}

fn annotate(value: Value) -> Value {
    json!({"metadata": {"annotations": {ANNOTATION: value}}})
}

/// On the CRD.
pub(super) const ANNOTATION: &str = "pointsman.dev/rewriting";

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(generation: u64, storage: &str, annotation: Option<&str>) -> CrdState {
        let version = |name: &str| json!({"name": name, "served": true, "storage": name == storage});
        CrdState::new(json!({
            "metadata": {
                "name": "ws.e.com", "uid": "u", "generation": generation, "annotations": {ANNOTATION: annotation},
            },
            "spec": {"group": "e.com", "names": {"plural": "ws"}, "versions": [version("v1"), version("v2")]},
        }))
        .unwrap()
    }

    #[test]
    fn mark_holds_for_same_spec() {
        let mark = Mark::new(&crd(4, "v2", None), "100").unwrap();
        let patch = mark.patch();
        let text = patch["metadata"]["annotations"][ANNOTATION].as_str().unwrap();
        assert_eq!(Mark::of(&crd(4, "v2", Some(text))), Some(mark.clone()));
        assert_eq!(Mark::of(&crd(5, "v2", Some(text))), None, "another spec in between");
        assert_eq!(Mark::of(&crd(4, "v1", Some(text))), None, "another version");
        assert_eq!(Mark::of(&crd(4, "v2", None)), None);
        let another = text.replace("\"uid\":\"u\"", "\"uid\":\"w\"");
        assert_eq!(Mark::of(&crd(4, "v2", Some(&another))), None, "a CRD that was made again, with this annotation");
        for strange in ["", "{}", "[]", "{\"uid\":\"u\",\"generation\":4,\"storage\":\"v2\",\"since\":\"100\"}"] {
            assert_eq!(Mark::of(&crd(4, "v2", Some(strange))), None, "{strange}");
        }
        assert!(mark.covers("101") && mark.covers("20000000000"));
        assert!(!mark.covers("100") && !mark.covers("99") && !mark.covers("") && !mark.covers("x9"));
    }

    #[test]
    fn nonnumeric_resource_version_marks_nothing() {
        assert_eq!(Mark::new(&crd(4, "v2", None), "abc"), None);
    }
}
