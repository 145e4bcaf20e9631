//! The authorities in a CRD or a webhook configuration, and their other writers.

use serde_json::Value;

use super::options::EnableEvent;
use crate::cluster::title;

/// Events about each existing `caBundle` that differs from the desired one.
pub(super) fn remarks(found: &Value, wanted: &Value) -> Vec<EnableEvent> {
    let ours = bundles(wanted);
    if ours.is_empty() {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    let theirs = bundles(found);
    let replaced =
        |(webhook, bundle): &&WebhookBundle<'_>| ours.iter().any(|(name, ours)| name == webhook && ours != bundle);
    let replaced: Vec<Option<&str>> = theirs.iter().filter(replaced).map(|(webhook, _)| *webhook).collect();
    if !replaced.is_empty() {
        let mut managers: Vec<String> = replaced.iter().flat_map(|webhook| managers(found, *webhook)).collect();
        managers.sort();
        managers.dedup();
        remarks.push(EnableEvent::BundleReplaced { document: title(wanted), managers });
    }
    let annotation = |document: &Value, name: &str| {
        document.pointer("/metadata/annotations")?.get(name)?.as_str().map(str::to_owned)
    };
    let injected = INJECTORS.into_iter().find_map(|name| Some((name, annotation(found, name)?)));
    if let Some((annotation, value)) = injected.filter(|(name, _)| annotation(wanted, name).is_none()) {
        remarks.push(EnableEvent::BundleInjected { document: title(wanted), annotation, value });
    }
    remarks
}

/// A bundle with the name of its webhook; a CRD has one unnamed webhook.
type WebhookBundle<'d> = (Option<&'d str>, &'d Value);

fn bundles(document: &Value) -> Vec<WebhookBundle<'_>> {
    let of_crd = document.pointer(BUNDLE).map(|bundle| (None, bundle));
    let webhooks = document.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    let of_webhooks = webhooks
        .filter_map(|webhook| Some((Some(webhook.get("name")?.as_str()?), webhook.pointer("/clientConfig/caBundle")?)));
    of_crd.into_iter().chain(of_webhooks).collect()
}

/// The field managers that own a bundle.
fn managers(document: &Value, webhook: Option<&str>) -> Vec<String> {
    let entries = document.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let key = webhook.map(|name| format!("k:{{\"name\":{}}}", Value::from(name)));
    let owns = |entry: &&Value| {
        let set = entry.get("fieldsV1");
        let owned = match &key {
            None => set.and_then(|set| set.pointer(OWNED)),
            Some(key) => set.and_then(|set| set.get("f:webhooks")?.get(key)?.pointer("/f:clientConfig/f:caBundle")),
        };
        owned.is_some()
    };
    let manager = |entry: &Value| entry.get("manager")?.as_str().map(str::to_owned);
    entries.filter(owns).filter_map(manager).collect()
}

const BUNDLE: &str = "/spec/conversion/webhook/clientConfig/caBundle";
const OWNED: &str = "/f:spec/f:conversion/f:webhook/f:clientConfig/f:caBundle";

/// The annotations by which cert-manager injects an authority.
const INJECTORS: [&str; 2] = ["cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replaced_bundle_names_its_manager() {
        let crd = |bundle: &str, annotations: Value| {
            let config = json!({"caBundle": bundle});
            let set = json!({"f:spec": {"f:conversion": {"f:webhook": {"f:clientConfig": {"f:caBundle": {}}}}}});
            json!({
                "metadata": {
                    "name": "ws.e.com", "annotations": annotations,
                    "managedFields": [{"manager": "cainjector", "fieldsV1": set}, {"manager": "other", "fieldsV1": {}}],
                },
                "spec": {
                    "group": "e.com", "names": {"plural": "ws"},
                    "versions": [{"name": "v1", "served": true, "storage": true}],
                    "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": config}},
                },
            })
        };
        let events = |found: Value, wanted: &Value| remarks(&found, wanted);
        let wanted = crd("b", json!({}));
        let both = events(crd("a", json!({INJECTORS[0]: "n/c"})), &wanted);
        assert!(
            matches!(&both[0], EnableEvent::BundleReplaced { managers, .. } if managers == &["cainjector"]),
            "{both:?}"
        );
        assert!(matches!(&both[1], EnableEvent::BundleInjected { value, .. } if value == "n/c"), "{both:?}");
        assert!(events(crd("b", json!({})), &wanted).is_empty());
    }

    #[test]
    fn replaced_webhook_bundle_names_manager() {
        let configuration = |bundle: &str| {
            let set = json!({"f:webhooks": {"k:{\"name\":\"a.e.com\"}": {"f:clientConfig": {"f:caBundle": {}}}}});
            json!({
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {
                    "name": "w", "annotations": {INJECTORS[0]: "n/c"},
                    "managedFields": [{"manager": "cainjector", "fieldsV1": set}, {"manager": "other", "fieldsV1": {}}],
                },
                "webhooks": [{"name": "a.e.com", "clientConfig": {"caBundle": bundle}}],
            })
        };
        let mut wanted = configuration("b");
        wanted["metadata"]["annotations"] = Value::Null;
        let both = remarks(&configuration("a"), &wanted);
        let EnableEvent::BundleReplaced { document, managers } = &both[0] else { panic!("{both:?}") };
        assert_eq!(document, "ValidatingWebhookConfiguration w");
        assert_eq!(managers, &["cainjector"]);
        assert!(matches!(&both[1], EnableEvent::BundleInjected { value, .. } if value == "n/c"), "{both:?}");
        assert!(remarks(&configuration("b"), &configuration("b")).is_empty());
        wanted["webhooks"][0]["clientConfig"] = json!({});
        assert!(remarks(&configuration("a"), &wanted).is_empty());
    }
}
