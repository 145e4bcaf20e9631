//! The policy that protects the conversion of a CRD while it is needed, evaluated by the API server itself.
//!
//! A chart, a GitOps tool or an operator that applies its own CRD may remove the conversion. The API server then only
//! changes `apiVersion`, and fields are lost with the first write. Such a removal is usually accidental. The guard
//! allows intended changes, identified by the field manager of pointsman's own commands, which check first, or by an
//! annotation.
//!
//! The API server itself rejects the removal of versions in `status.storedVersions`, before it evaluates policies
//! (`apiextensions-apiserver pkg/apis/apiextensions/validation`).

use serde_json::{Value, json};

use super::cel::literal;
use crate::definition::Kind;
use crate::registration::document::{Component, policy};

/// The `ValidatingAdmissionPolicy` for the CRD of a kind, and its binding. It rejects a write that removes or redirects
/// the conversion while more than one version is served or stored, and the deletion of the CRD while a webhook
/// converts. The `caBundle` may change at any time, because CAs rotate and other tools write it.
#[must_use]
pub fn crd_guard(kind: &Kind) -> [Value; 2] {
    let crd = format!("{}.{}", kind.plural(), kind.group());
    let name = format!("pointsman-crd-guard.{crd}");
    let rule = json!({
        "apiGroups": ["apiextensions.k8s.io"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE", "DELETE"],
        "resources": ["customresourcedefinitions"],
    });
    let mut documents = policy((&name, Component::Conversion), &rule, (variables(), validations()), "Deny");
    let conditions = documents.iter_mut().find_map(|document| document.pointer_mut("/spec/matchConditions"));
    if let Some(Value::Array(conditions)) = conditions {
        // By name, because `resourceNames` does not match a deletion of all CRDs.
        let ours = format!("oldObject.metadata.name in [{}]", literal(&crd));
        conditions.push(json!({"name": "ours", "expression": ours}));
    }
    documents
}

/// The conversion before and after, and whether a change is intended.
fn variables() -> Value {
    let converted = |crd: &str| format!("has({crd}.spec.conversion) && {crd}.spec.conversion.strategy == \"Webhook\"");
    let (key, manager) = (literal(RELEASED_ANNOTATION), literal(MANAGER));
    let is_intended = |crd: &str| {
        let annotations = format!("{crd}.metadata.annotations");
        format!("has({annotations}) && {key} in {annotations} && {annotations}[{key}] != \"\"")
    };
    let deletes = "request.operation == \"DELETE\"";
    let status = "oldObject.status.storedVersions";
    let by_us = "has(request.options) && has(request.options.fieldManager) && request.options.fieldManager";
    let more = "size(variables.served) > 1 || size(variables.stored) > 1 || variables.stored != variables.served";
    let needed = format!("variables.enabled && ({more})");
    json!([
        {"name": "enabled", "expression": converted("oldObject")},
        {"name": "before", "expression": format!("variables.enabled ? ({}) : \"\"", client("oldObject"))},
        {
            "name": "after",
            "expression": format!("!({deletes}) && {} ? ({}) : \"no webhook\"", converted("object"), client("object")),
        },
        {"name": "served", "expression": "oldObject.spec.versions.filter(v, v.served).map(v, v.name)"},
        {
            "name": "stored",
            "expression": format!("has(oldObject.status) && has({status}) ? {status} : variables.served"),
        },
        {"name": "needed", "expression": needed},
        {
            "name": "meant",
            "expression": format!("({by_us} == {manager}) || ({deletes} ? ({}) : ({}))", is_intended("oldObject"), is_intended("object")),
        },
    ])
}

/// The address that the API server calls, as text, without the trusted certificates.
fn client(crd: &str) -> String {
    let config = format!("{crd}.spec.conversion.webhook.clientConfig");
    let service = format!("{config}.service");
    let path = format!("(has({service}.path) ? {service}.path : \"/\")");
    let port = format!("string(has({service}.port) ? {service}.port : 443)");
    format!(
        "has({service}) ? \"Service \" + {service}.namespace + \"/\" + {service}.name + \":\" + {port} + {path} : {config}.url"
    )
}

fn validations() -> Value {
    let crd = "oldObject.metadata.name";
    let changed = [
        literal("this write would lead the conversion of "),
        crd.to_owned(),
        literal(" from "),
        "variables.before".to_owned(),
        literal(" to "),
        "variables.after".to_owned(),
        literal(" while "),
        "variables.served.join(\", \")".to_owned(),
        literal(" are served and "),
        "variables.stored.join(\", \")".to_owned(),
        literal(
            " may be stored: without this conversion the API server only changes apiVersion, and fields are \
                 lost. Copy the conversion into your manifests (pointsman crd prints it), or run pointsman disable",
        ),
    ];
    let deleted = [
        literal("this would delete every object of "),
        crd.to_owned(),
        literal(", which "),
        "variables.before".to_owned(),
        literal(" converts. To delete the objects anyway: kubectl annotate crd "),
        crd.to_owned(),
        literal(&format!(
            " {RELEASED_ANNOTATION}=WHY, then delete the CRD; to keep the objects, use pointsman disable"
        )),
    ];
    json!([
        {
            "expression": "request.operation != \"UPDATE\" || !variables.needed || variables.meant || variables.before == variables.after",
            "messageExpression": changed.join(" + "),
            "message": "this write would remove the conversion from the CRD while objects need the conversion: see pointsman disable",
            "reason": "Invalid",
        },
        {
            "expression": "request.operation != \"DELETE\" || !variables.enabled || variables.meant",
            "messageExpression": deleted.join(" + "),
            "message": format!("this would delete every object of a converted kind: annotate the CRD with {RELEASED_ANNOTATION} \
                 first"),
            "reason": "Invalid",
        },
    ])
}

/// An annotation of a CRD whose value is the reason for a removal of the conversion or a deletion.
const RELEASED_ANNOTATION: &str = "pointsman.dev/released";

/// The field manager of pointsman's own commands (`crates/cluster`), which check a CRD before they change it.
const MANAGER: &str = "pointsman";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition;

    #[test]
    fn guard_matches_kind_by_name() {
        let built_in = Kind::embedded().unwrap().remove(0);
        let renamed = |text: Option<&str>| text.unwrap().replace(built_in.group(), "example.com");
        let texts = [definition::embedded_text(built_in.name()), definition::embedded_crd(built_in.name())];
        let [definition, crd] = texts.map(renamed);
        let other = Kind::from_crd(&definition, &crd).unwrap();
        let kinds = [built_in, other];
        let guards: Vec<[Value; 2]> = kinds.iter().map(crd_guard).collect();
        let without_name = |[policy, binding]: &[Value; 2], crd: &str| {
            let name = format!("pointsman-crd-guard.{crd}");
            let text = format!("{policy}{binding}");
            assert!(text.contains(&format!("oldObject.metadata.name in [\\\"{crd}\\\"]")), "{text}");
            text.replace(&name, "").replace(crd, "")
        };
        let texts: Vec<String> = kinds
            .iter()
            .zip(&guards)
            .map(|(kind, guard)| without_name(guard, &format!("{}.{}", kind.plural(), kind.group())))
            .collect();
        assert!(texts.len() > 1 && texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    }
}
