//! What an apply cannot take away: what somebody else wrote, or we otherwise than by applying, stays beside ours.

use serde_json::{Value, json};

use crate::crd_state::CrdState;

/// A merge patch that makes a CRD what is wanted and takes the other address of its webhook away: an API server takes
/// one only. Nothing where there is none. A way out that was not ended has left one, and so has a server elsewhere.
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

/// A merge patch that writes those webhooks of a configuration anew that stand there by the same name and have the
/// other address. Others stay. Nothing where there is none such: an apply does then.
pub(super) fn replacing_webhooks(found: &Value, wanted: &Value) -> Option<Value> {
    let is_url = |webhook: &Value| webhook.pointer("/clientConfig/url").is_some();
    let ours = wanted.get("webhooks")?.as_array()?;
    let moved =
        |there: &Value| ours.iter().find(|ours| ours.get("name") == there.get("name") && is_url(ours) != is_url(there));
    let there = found.get("webhooks")?.as_array()?;
    there.iter().any(|one| moved(one).is_some()).then(|| {
        json!({
            "metadata": {"resourceVersion": found.pointer("/metadata/resourceVersion")},
            "webhooks": there.iter().map(|one| moved(one).unwrap_or(one)).collect::<Vec<_>>(),
        })
    })
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
    fn webhooks_are_written_anew_where_one_has_the_other_address() {
        let hooks = |address: Value| {
            json!({
                "metadata": {"name": "c", "resourceVersion": "3"},
                "webhooks": [{"name": "a.e.com", "clientConfig": address}, {"name": "b.e.com", "clientConfig": {"url": "https://b"}}],
            })
        };
        let (url, service) = (hooks(json!({"url": "https://h/validate"})), hooks(json!({"service": {"name": "s"}})));
        for (found, wanted) in [(&url, &service), (&service, &url)] {
            let patch = replacing_webhooks(found, wanted).unwrap();
            assert_eq!(patch["metadata"]["resourceVersion"], "3");
            assert_eq!(patch["webhooks"], wanted["webhooks"]);
            assert_eq!(replacing_webhooks(wanted, wanted), None);
        }
        let theirs = json!({"name": "c.e.com", "clientConfig": {"url": "https://c"}});
        let mut more = url.clone();
        more["webhooks"].as_array_mut().unwrap().push(theirs.clone());
        let patch = replacing_webhooks(&more, &service).unwrap();
        assert_eq!(patch["webhooks"][0], service["webhooks"][0]);
        assert_eq!(patch["webhooks"][2], theirs, "what is not ours stays");
        assert_eq!(replacing_webhooks(&url, &hooks(json!({"url": "https://other"}))), None);
        assert_eq!(replacing_webhooks(&json!({"spec": {}}), &json!({"spec": {}})), None);
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
