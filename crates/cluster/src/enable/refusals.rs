//! Changes of an existing CRD that `enable` refuses.

use crate::conversion::ClientStanza;
use crate::crd_state::CrdState;

/// The reason to refuse the change of a CRD, if any.
pub(super) fn refusal(found: &CrdState, wanted: &CrdState, repoint: bool) -> Option<String> {
    let (name, versions) = (found.name(), wanted.versions());
    let missing = |those: &[&str]| -> Vec<String> {
        those.iter().filter(|version| !versions.contains(version)).map(|version| (*version).to_owned()).collect()
    };
    let stored = missing(&found.stored_versions());
    if !stored.is_empty() {
        return Some(format!(
            "{name} may have objects stored as {}, a version without definition: these objects would become \
                 unreadable. Add the version to the definition, or migrate the objects first",
            stored.join(", ")
        ));
    }
    let served = missing(&found.served());
    if !served.is_empty() {
        return Some(format!(
            "{name} serves {}, a version without definition: its clients would fail. Add the version to the \
                 definition, or stop serving this version first",
            served.join(", ")
        ));
    }
    let (theirs, ours) = (ClientStanza::of(found.document()), ClientStanza::of(wanted.document()));
    let (theirs, ours) = (theirs?, ours?);
    let same = (&theirs.place, &theirs.path) == (&ours.place, &ours.path);
    if found.is_converted() && !same && !repoint {
        return Some(format!(
            "{name} is converted by {}{}: its objects may contain data that only this webhook understands. To \
                 replace the webhook anyway, use --repoint",
            theirs.place, theirs.path
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(versions: &[&str], storage: &str, service: Option<&str>) -> CrdState {
        let version = |name: &&str| json!({"name": name, "served": true, "storage": *name == storage});
        let conversion = service.map(|name| {
            let service = json!({"namespace": "n", "name": name, "path": "/convert"});
            json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}}})
        });
        let mut document = json!({
            "metadata": {"name": "ws.e.com"},
            "spec": {
                "group": "e.com", "names": {"plural": "ws"}, "versions": versions.iter().map(version).collect::<Vec<_>>(),
            },
            "status": {"storedVersions": [storage]},
        });
        if let Some(conversion) = conversion {
            document["spec"]["conversion"] = conversion;
        }
        CrdState::new(document).unwrap()
    }

    #[test]
    fn harmful_enable_is_refused() {
        let wanted = crd(&["v1", "v2"], "v1", Some("us"));
        let message = |found: &CrdState, repoint| refusal(found, &wanted, repoint).unwrap_or_default();
        assert_eq!(message(&crd(&["v1"], "v1", None), false), "");
        assert_eq!(message(&crd(&["v1", "v2"], "v1", Some("us")), false), "");
        assert!(message(&crd(&["v0"], "v0", None), true).contains("may have objects stored as v0"));
        assert!(message(&crd(&["v1", "v0"], "v1", None), true).contains("serves v0"));
        assert!(message(&crd(&["v1", "v2"], "v1", Some("them")), false).contains("Service n/them:443/convert"));
        assert_eq!(message(&crd(&["v1", "v2"], "v1", Some("them")), true), "");
    }
}
