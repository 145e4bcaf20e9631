//! Restores the documents that `enable` has changed.

use pointsman_core::pointer_token;
use serde_json::{Value, json};

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};

/// Restores a document unless another client changed it, except for injectors of authorities. Returns true on success.
pub(super) async fn undo(
    cluster: &Cluster,
    path: &str,
    found: &Value,
    applied: &Value,
    ours: &Value,
    manager: &str,
) -> Result<bool, CallError> {
    let mut seen = applied.clone();
    for _ in 0..TRIES {
        let patch = undone(found, &seen, ours);
        match cluster.patch(&format!("{path}?fieldManager={manager}"), PatchForm::Json, &patch, Extent::Metadata).await
        {
            // A precondition failed: another client changed the document, or it was restored without a received
            // response.
            Err(error) if error.code() == Some(422) => {
                let (now, member) = (cluster.get(path).await?, main_member(ours));
                if now.get(member) == found.get(member) {
                    return Ok(true);
                }
                if without_authorities(now.get(member)) != without_authorities(applied.get(member)) {
                    return Ok(false);
                }
                seen = now;
            }
            answer => return answer.map(|_| true),
        }
    }
    Ok(false)
}

/// Injectors write occasionally.
const TRIES: u16 = 3;

/// The same without the bundles of cert-manager's injector.
fn without_authorities(content: Option<&Value>) -> Option<Value> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.remove("caBundle");
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut content = content?.clone();
    strip(&mut content);
    Some(content)
}

/// The main member of a document.
fn main_member(document: &Value) -> &'static str {
    if document.get("webhooks").is_some() { "webhooks" } else { "spec" }
}

/// The patch that restores a document if unchanged. Replaces the whole main member: a merge would keep webhook members
/// next to the old strategy.
fn undone(found: &Value, applied: &Value, ours: &Value) -> Value {
    let generation = applied.pointer("/metadata/generation");
    let member = main_member(ours);
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/generation", "value": generation}),
        json!({"op": "replace", "path": format!("/{member}"), "value": found.get(member)}),
    ];
    for members in ["labels", "annotations"] {
        let at = format!("/metadata/{members}");
        let ours = ours.pointer(&at).and_then(Value::as_object);
        for name in ours.into_iter().flat_map(|ours| ours.keys()) {
            let path = format!("{at}/{}", pointer_token(name));
            let before = found.pointer(&at).and_then(|members| members.get(name));
            let is_there = applied.pointer(&at).is_some_and(|members| members.get(name).is_some());
            match before {
                Some(value) => patch.push(json!({"op": "replace", "path": path, "value": value})),
                None if is_there => patch.push(json!({"op": "remove", "path": path})),
                None => {}
            }
        }
    }
    Value::Array(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn injected_authority_is_no_conflict() {
        let hooks = |bundle: &str, name: &str| {
            Some(json!([{"name": name, "clientConfig": {"caBundle": bundle, "service": {"name": "s"}}}]))
        };
        let same = |one: Option<Value>, two: Option<Value>| {
            without_authorities(one.as_ref()) == without_authorities(two.as_ref())
        };
        assert!(same(hooks("YQ==", "a"), hooks("Yg==", "a")));
        assert!(!same(hooks("YQ==", "a"), hooks("YQ==", "b")) && !same(hooks("YQ==", "a"), None));
    }

    #[test]
    fn restore_returns_found_state() {
        let crd = |annotations: Value, generation: u64| {
            json!({
                "metadata": {"name": "ws.e.com", "generation": generation, "annotations": annotations},
                "spec": {"group": "e.com"},
            })
        };
        let found = crd(json!({"a/b": "theirs", "c": "theirs"}), 1);
        let ours = crd(json!({"a/b": "ours", "d~": "ours"}), 2);
        assert_eq!(
            undone(&found, &ours, &ours),
            json!([
                {"op": "test", "path": "/metadata/generation", "value": 2},
                {"op": "replace", "path": "/spec", "value": found["spec"]},
                {"op": "replace", "path": "/metadata/annotations/a~1b", "value": "theirs"},
                {"op": "remove", "path": "/metadata/annotations/d~0"},
            ])
        );
        let half = crd(json!({"a/b": "ours"}), 2);
        let ops = undone(&found, &half, &ours);
        assert_eq!(ops.as_array().unwrap().len(), 3, "what is not there cannot be removed: {ops}");
        let webhooks = json!({"metadata": {"generation": 3}, "webhooks": []});
        assert_eq!(
            undone(&webhooks, &webhooks, &webhooks)[1],
            json!({"op": "replace", "path": "/webhooks", "value": []})
        );
    }
}
