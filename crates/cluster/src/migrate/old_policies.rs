//! Policies of versions that are no longer stored.
//!
//! The policy of the storage version makes the API server convert every write to that version. After a change of
//! storage version it has no benefit, and an unreachable webhook then refuses writes that need no conversion.

use serde_json::Value;

use super::options::MigrateEvent;
use super::retry::patiently;
use crate::call_error::CallError;
use crate::cluster::Cluster;
use crate::crd_state::CrdState;

/// Deletes the policies of versions that the CRD does not store, with their bindings. Keeps policies not printed by
/// pointsman. A failed deletion is reported and ignored: objects are stored correctly regardless.
pub(super) async fn delete_old_policies(cluster: &Cluster, crd: &CrdState, report: &mut dyn FnMut(MigrateEvent)) {
    let storage = crd.storage();
    for version in crd.versions().into_iter().filter(|version| *version != storage) {
        let name = format!("{POLICY}{version}.{}", crd.name());
        for (kind, plural) in KINDS {
            let path = format!("{GROUP}/{plural}/{name}");
            let document = format!("{kind} {name}");
            match delete(cluster, &path, report).await {
                Ok(false) => {}
                Ok(true) => report(MigrateEvent::Deleted { document }),
                Err(error) => report(MigrateEvent::Left { document, error }),
            }
        }
    }
}

/// Returns true if a policy of pointsman existed.
async fn delete(cluster: &Cluster, path: &str, report: &mut dyn FnMut(MigrateEvent)) -> Result<bool, CallError> {
    let Some(there) = patiently(report, async || cluster.find(path).await).await? else { return Ok(false) };
    let by = there.pointer("/metadata/labels/app.kubernetes.io~1managed-by").and_then(Value::as_str);
    if by != Some("pointsman") {
        return Ok(false);
    }
    patiently(report, async || cluster.delete(path).await).await
}

/// Bindings first: a binding without policy refuses everything.
const KINDS: [(&str, &str); 2] = [
    ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
];
const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// Name prefix of such policies (`crates/core/src/registration/guards/incomplete.rs`).
pub(crate) const POLICY: &str = "pointsman-incomplete.";
