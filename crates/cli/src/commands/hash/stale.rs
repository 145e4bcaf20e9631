//! `pointsman hash --stale`: objects whose stamp is not the hash of what they say.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::Webhook;

use super::hashed::{Hashed, hash};
use crate::commands::json::Json;
use crate::commands::{input::Object, kinds_dir::kind_of};

/// An object, what it is stamped with, and what it should be.
pub(super) struct Stamped {
    pub(super) stamp: Option<String>,
    pub(super) hashed: Hashed,
}

impl Stamped {
    pub(super) fn is_stale(&self) -> bool {
        self.stamp.as_deref() != Some(self.hashed.preimage.hash().as_str())
    }
}

/// Reads the stamp of an object, and hashes it.
pub(super) fn stamped(webhook: &Webhook, object: &Object) -> Result<Stamped, String> {
    let hashed = hash(webhook, object)?;
    let stamp = stamp(kind_of(webhook, object)?, object);
    Ok(Stamped { stamp, hashed })
}

fn stamp(kind: &Kind, object: &Object) -> Option<String> {
    let json = Json::from_json(&object.text).ok()?;
    let annotations = json.get("metadata")?.get("annotations")?;
    Some(annotations.get(&kind.hash_annotation()?)?.as_str()?.to_owned())
}
