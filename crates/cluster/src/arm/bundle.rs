//! The authorities in a CRD, and who else sets them.

use serde_json::Value;

use super::options::ArmEvent;
use crate::crd_state::CrdState;

/// What there is to say of the `caBundle` that is there, where another one is wanted.
pub(super) fn remarks(found: &CrdState, wanted: &Value) -> Vec<ArmEvent> {
    let (there, ours) = (found.document().pointer(BUNDLE), wanted.pointer(BUNDLE));
    let Some(ours) = ours else { return Vec::new() };
    let mut remarks = Vec::new();
    if there.is_some_and(|there| there != ours) {
        remarks.push(ArmEvent::BundleReplaced { managers: managers(found.document()) });
    }
    let injected = INJECTORS.into_iter().find_map(|name| Some((name, found.annotation(name)?)));
    let stays = |name: &str| wanted.pointer("/metadata/annotations").is_some_and(|all| all.get(name).is_some());
    if let Some((annotation, value)) = injected.filter(|(name, _)| !stays(name)) {
        remarks.push(ArmEvent::BundleInjected { annotation, value: value.to_owned() });
    }
    remarks
}

/// The field managers that own the bundle.
fn managers(document: &Value) -> Vec<String> {
    let entries = document.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let owns = |entry: &&Value| entry.get("fieldsV1").and_then(|set| set.pointer(OWNED)).is_some();
    let manager = |entry: &Value| entry.get("manager")?.as_str().map(str::to_owned);
    entries.filter(owns).filter_map(manager).collect()
}

const BUNDLE: &str = "/spec/conversion/webhook/clientConfig/caBundle";
const OWNED: &str = "/f:spec/f:conversion/f:webhook/f:clientConfig/f:caBundle";

/// By which cert-manager writes an authority into the CRD.
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
        let said = |found: Value, wanted: &Value| remarks(&CrdState::new(found).unwrap(), wanted);
        let wanted = crd("b", json!({}));
        let both = said(crd("a", json!({INJECTORS[0]: "n/c"})), &wanted);
        assert!(matches!(&both[0], ArmEvent::BundleReplaced { managers } if managers == &["cainjector"]), "{both:?}");
        assert!(matches!(&both[1], ArmEvent::BundleInjected { value, .. } if value == "n/c"), "{both:?}");
        assert!(said(crd("b", json!({})), &wanted).is_empty());
    }
}
