//! One object in another version.

use pointsman_core::webhook::{Change, Webhook};

use crate::commands::{input::InputObject, json_tree::JsonTree, kinds_dir::kind_of, output::warn};

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

/// Converts an object as the webhook does. As in `kubectl convert --output-version`, the group may stand before the
/// version.
pub(super) fn convert(
    webhook: &Webhook,
    object: &InputObject,
    version: &str,
    explain: bool,
) -> Result<ConversionResult, String> {
    let kind = kind_of(webhook, object)?;
    let without_group = version.strip_prefix(kind.group()).and_then(|rest| rest.strip_prefix('/'));
    let to = without_group.unwrap_or(version);
    if !kind.versions().any(|version| version == to) {
        let known: Vec<&str> = kind.versions().collect();
        let (label, kind, known) = (object.label(), kind.kind(), known.join(", "));
        return Err(format!("{label}: --to {version}: {kind} has {known}"));
    }
    let refused = |error: &dyn std::fmt::Display| format!("{}: {error}", object.label());
    let (converted, changes) = match explain {
        true => webhook.explain(&object.text, to),
        false => webhook.convert(&object.text, to).map(|converted| (converted, Vec::new())),
    }
    .map_err(|error| refused(&error))?;
    if converted.incomplete {
        warn(&format!(
            "{}: what only {} can say is too large for an annotation and was left out",
            object.label(),
            converted.from
        ));
    }
    let object = JsonTree::from_json(&converted.text).map_err(|error| refused(&error))?;
    Ok(ConversionResult { object, changes })
}
