//! The rollout hash of one object.

use pointsman_core::webhook::{Preimage, Webhook};

use crate::commands::{input::InputObject, kinds_dir::kind_of};

/// The input of an object's hash.
pub(crate) struct Hashed {
    pub(crate) preimage: Preimage,
    /// The version whose fields are hashed.
    pub(crate) version: String,
    /// The fingerprint of the recipe, which depends on kind and definition.
    pub(crate) recipe: String,
}

/// Hashes an object as the webhook does.
pub(crate) fn hash(webhook: &Webhook, object: &InputObject) -> Result<Hashed, String> {
    let kind = kind_of(webhook, object)?;
    let Some(version) = kind.hash_version() else {
        let (label, kind) = (object.label(), kind.kind());
        return Err(format!("{label}: {kind} has no rollout hash: its definition has no `rolloutHash`"));
    };
    let preimage = webhook.preimage(&object.text);
    let preimage = preimage.map_err(|error| format!("{}: {error}", object.label()))?;
    let recipe = kind.hash_recipe().unwrap_or_default().to_owned();
    Ok(Hashed { preimage, version: version.to_owned(), recipe })
}
