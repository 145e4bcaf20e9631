//! Converts objects for commands on a cluster, as the webhook does.

use pointsman_cluster::ObjectConversion;

use super::kinds_dir::KindsArgs;

/// The conversion for all known kinds.
pub(super) fn conversion(kinds: &KindsArgs) -> anyhow::Result<ObjectConversion> {
    let webhook = kinds.webhook()?;
    Ok(ObjectConversion::new(move |object, to| {
        let converted = webhook.convert(&object.to_string(), to).ok()?;
        serde_json::from_str(&converted.text).ok()
    }))
}
