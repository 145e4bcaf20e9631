//! Fields that an apply cannot remove: those of other field managers, or written by pointsman in another way.

use serde_json::{Value, json};

use crate::crd_state::CrdState;

/// A merge patch that applies the desired CRD and removes the other form of webhook address, since an API server
/// accepts only one. `None` without the other form, which remains from an interrupted disable or an external server.
pub(super) fn replacing(found: &CrdState, wanted: &Value) -> Option<Value> {
    let ours = wanted.pointer(CLIENT)?;
    let other = if ours.get("url").is_some() { "service" } else { "url" };
    found.document().pointer(CLIENT)?.get(other)?;
    let mut patch = wanted.clone();
    patch.pointer_mut(CLIENT)?.as_object_mut()?.insert(other.to_owned(), Value::Null);
    let metadata = patch.get_mut("metadata")?.as_object_mut()?;
    metadata.insert("resourceVersion".to_owned(), json!(found.resource_version()));
    Some(patch)
}

const CLIENT: &str = "/spec/conversion/webhook/clientConfig";

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(client: &Value) -> Value {
        json!({
            "metadata": {"name": "ws.e.com", "resourceVersion": "7"},
            "spec": {
                "group": "e.com", "names": {"plural": "ws"},
                "versions": [{"name": "v1", "served": true, "storage": true}],
                "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}},
            },
        })
    }

    #[test]
    fn there_is_one_address_only() {
        let (url, service) =
            (json!({"url": "https://h/convert"}), json!({"service": {"name": "s"}, "caBundle": "Cg=="}));
        for (found, wanted, other) in [(&url, &service, "url"), (&service, &url, "service")] {
            let patch = replacing(&CrdState::new(crd(found)).unwrap(), &crd(wanted)).unwrap();
            let client = patch.pointer(CLIENT).unwrap();
            assert!(client.get(other).is_some_and(Value::is_null) && patch["metadata"]["resourceVersion"] == "7");
            assert!(replacing(&CrdState::new(crd(wanted)).unwrap(), &crd(wanted)).is_none());
        }
        let mut unconverted = crd(&url);
        unconverted["spec"]["conversion"] = json!({"strategy": "None"});
        assert!(replacing(&CrdState::new(unconverted).unwrap(), &crd(&service)).is_none());
    }
}
