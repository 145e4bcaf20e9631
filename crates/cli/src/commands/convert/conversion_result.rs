//! One object in another version.

use pointsman_core::webhook::{Change, Fit, Webhook};

use crate::commands::{input::InputObject, json_tree::JsonTree, kind_names, kinds_dir::kind_of, output::warn};

/// An object after conversion.
pub(super) struct ConversionResult {
    pub(super) object: JsonTree,
    /// Which operation changed what, where that was asked for.
    pub(super) changes: Vec<Change>,
}

impl ConversionResult {
    pub(super) fn unchanged(object: &InputObject) -> Result<Self, String> {
        let json = JsonTree::from_json(&object.text);
        let object = json.map_err(|error| format!("{}: {error}", object.label()))?;
        Ok(Self { object, changes: Vec::new() })
    }
}

/// Converts an object as the webhook does.
pub(super) fn convert(
    webhook: &Webhook,
    object: &InputObject,
    version: &str,
    explain: bool,
) -> Result<ConversionResult, String> {
    let kind = kind_of(webhook, object)?;
    let to = kind_names::version(kind, version)
        .map_err(|message| format!("{}: --to {version}: {message}", object.label()))?;
    let refused = |error: &dyn std::fmt::Display| format!("{}: {error}", object.label());
    let (converted, changes) = match explain {
        true => webhook.explain(&object.text, to),
        false => webhook.convert(&object.text, to).map(|converted| (converted, Vec::new())),
    }
    .map_err(|error| refused(&error))?;
    let size = match converted.fit {
        Fit::Well => None,
        Fit::Barely => Some("takes more than three quarters of what an object's annotations may have"),
        Fit::Not => Some("is too large for an annotation and was left out"),
    };
    if let Some(size) = size {
        warn(&format!("{}: what only {} can say {size}", object.label(), converted.from));
    }
    let object = JsonTree::from_json(&converted.text).map_err(|error| refused(&error))?;
    Ok(ConversionResult { object, changes })
}
