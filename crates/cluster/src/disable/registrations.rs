//! Webhook configurations and policies of pointsman for a single kind.

use serde_json::Value;

use crate::admission_documents::{AdmissionDocument, admission_documents};
use crate::call_error::CallError;
use crate::cluster::Cluster;
use crate::crd_state::CrdState;

/// A document for a single kind.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct OwnDocument {
    /// Kind and name.
    pub(super) document: String,
    pub(super) path: String,
}

/// Documents of pointsman for this CRD alone, in deletion order: webhook configurations first, and each binding before
/// its policy.
pub(super) async fn registered(cluster: &Cluster, crd: &CrdState) -> Result<Vec<OwnDocument>, CallError> {
    let (mut found, mut policies) = (Vec::new(), Vec::new());
    for one in admission_documents(cluster).await?.into_iter().filter(AdmissionDocument::is_ours) {
        let policy = one.document.pointer("/spec/policyName").and_then(Value::as_str);
        if is_about(&one.document, crd) || policy.is_some_and(|policy| policies.contains(&policy.to_owned())) {
            policies.push(one.name().to_owned());
            found.push(OwnDocument { document: one.title(), path: one.path });
        }
    }
    // Bindings before policies.
    let rank = |one: &OwnDocument| u8::from(one.document.starts_with("ValidatingAdmissionPolicy "));
    found.sort_by_key(rank);
    Ok(found)
}

/// True if all rules of a document concern this kind, or it guards this kind's CRD alone. Freeze policies belong to
/// their rollouts.
fn is_about(document: &Value, crd: &CrdState) -> bool {
    if document.pointer("/metadata/labels/app.kubernetes.io~1component").is_some_and(|component| component == "rollout")
    {
        return false;
    }
    let webhooks = document.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    let rules = webhooks.filter_map(|webhook| webhook.get("rules")?.as_array()).flatten();
    let constraints = document.pointer("/spec/matchConstraints/resourceRules").and_then(Value::as_array);
    let rules: Vec<&Value> = rules.chain(constraints.into_iter().flatten()).collect();
    let all_match = |rule: &Value, name: &str, is_it: &dyn Fn(&str) -> bool| {
        let list = rule.get(name).and_then(Value::as_array);
        list.is_some_and(|list| list.iter().all(|one| one.as_str().is_some_and(is_it)))
    };
    let (group, plural) = (crd.group(), crd.plural());
    let is_kinds = |rule: &&Value| {
        let resource = |name: &str| name.split('/').next() == Some(plural);
        all_match(rule, "apiGroups", &|name| name == group) && all_match(rule, "resources", &resource)
    };
    if !rules.is_empty() && rules.iter().all(is_kinds) {
        return true;
    }
    let only = format!("oldObject.metadata.name in [{}]", Value::String(crd.name()));
    let conditions = document.pointer("/spec/matchConditions").and_then(Value::as_array);
    conditions.is_some_and(|all| all.iter().any(|one| one.get("expression").is_some_and(|text| *text == only)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shared_registration_is_kept() {
        let version = json!({"name": "v1", "served": true, "storage": true});
        let crd = CrdState::new(json!({
            "metadata": {"name": "ws.e.com"},
            "spec": {"group": "e.com", "names": {"plural": "ws"}, "versions": [version]},
        }))
        .unwrap();
        let rule = |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources});
        let webhooks = |rules: Vec<Value>| json!({"webhooks": [{"rules": rules}]});
        assert!(is_about(&webhooks(vec![rule("e.com", &["ws"]), rule("e.com", &["ws/scale"])]), &crd));
        assert!(is_about(&json!({"spec": {"matchConstraints": {"resourceRules": [rule("e.com", &["ws"])]}}}), &crd));
        for other in [
            webhooks(vec![rule("e.com", &["ws"]), rule("e.com", &["vs"])]),
            webhooks(vec![rule("e.com", &["ws", "vs"])]),
            webhooks(vec![rule("f.com", &["ws"])]),
            webhooks(vec![rule("*", &["ws"])]),
            webhooks(vec![]),
            json!({}),
            json!({
                "metadata": {"labels": {"app.kubernetes.io/component": "rollout"}},
                "spec": {"matchConstraints": {"resourceRules": [rule("e.com", &["ws"])]}},
            }),
        ] {
            assert!(!is_about(&other, &crd), "{other}");
        }
        let guard = |names: &str| {
            let rules = [rule("apiextensions.k8s.io", &["customresourcedefinitions"])];
            let conditions = [json!({"expression": format!("oldObject.metadata.name in {names}")})];
            json!({"spec": {"matchConstraints": {"resourceRules": rules}, "matchConditions": conditions}})
        };
        assert!(is_about(&guard("[\"ws.e.com\"]"), &crd));
        assert!(!is_about(&guard("[\"ws.e.com\", \"vs.e.com\"]"), &crd));
    }
}
