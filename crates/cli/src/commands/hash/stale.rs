//! `pointsman hash --stale`: objects with a hash annotation that differs from their hash.

use pointsman_core::webhook::{HASH_SCHEMA, Webhook};

use super::preimages::{Hashed, hash};
use crate::commands::json_tree::JsonTree;
use crate::commands::{input::InputObject, kinds_dir::kind_of};

/// An object with its hash annotation and its hash.
pub(crate) struct Stamped {
    pub(crate) stamp: Option<String>,
    /// The annotation has another recipe, so the two are not comparable. `/validate` ignores it too.
    of_another_recipe: bool,
    pub(crate) hashed: Hashed,
}

impl Stamped {
    pub(crate) fn is_stale(&self) -> bool {
        !self.of_another_recipe && self.stamp.as_deref() != Some(self.hashed.preimage.hash().as_str())
    }
}

/// Reads the hash annotation of an object, and hashes the object.
pub(crate) fn stamped(webhook: &Webhook, object: &InputObject) -> Result<Stamped, String> {
    let hashed = hash(webhook, object)?;
    let kind = kind_of(webhook, object)?;
    let annotation = |end: &str| annotation(object, &format!("{}{end}", kind.hash_annotation()?));
    let of_another_recipe = annotation("-version").is_some_and(|recipe| recipe != HASH_SCHEMA);
    Ok(Stamped { stamp: annotation(""), of_another_recipe, hashed })
}

fn annotation(object: &InputObject, key: &str) -> Option<String> {
    let json = JsonTree::from_json(&object.text).ok()?;
    Some(json.get("metadata")?.get("annotations")?.get(key)?.as_str()?.to_owned())
}
