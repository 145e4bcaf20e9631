//! The role of a server for a write: the table of label changes.

use super::write::{SentObject, Write};
use super::{controller::ControllerVersion, label::Label, settings::Settings};
use crate::definition::Kind;

/// Returns why a review cannot belong to pointsman's webhook configuration: it was sent to the server of another
/// version, or an object without a label was sent to a server that does not take them. Terminating objects are always
/// allowed.
pub(crate) fn misdirected(kind: &Kind, settings: &Settings, write: &Write<'_>) -> Option<String> {
    let old = write.old.as_ref();
    let labels = [Some(&write.new), old].map(|object| object.map(|object| Label::of(object, kind, settings)));
    let is_ours = |label: &Label<'_>| match label {
        Label::ThisVersion => true,
        Label::None => settings.default,
        Label::Other { version, .. } => settings.shadowed.iter().any(|shadowed| shadowed.as_str() == version),
        Label::Malformed => false,
    };
    if labels.iter().flatten().any(is_ours) || old.is_some_and(SentObject::is_terminating) {
        return None;
    }
    let (own, key) = (settings.controller.as_ref()?.as_str(), &kind.admission.version_label);
    let wrong = "the webhook configuration of this request leads to the wrong server";
    Some(match labels.first().and_then(Option::as_ref) {
        Some(Label::Other { version, .. }) => format!(
            "{wrong}: label {key} is {version}, and this is the server of {own}; point the configuration of \
                 {version} to the server of {version}"
        ),
        Some(Label::None) => format!(
            "{wrong}: the object has no label {key}, and the server of {own} refuses such objects; start the \
                 server with --default-version, or register a server with this flag"
        ),
        _ => format!("{wrong}: label {key} holds no controller version, and this server belongs to {own}"),
    })
}

/// The role of a server.
pub(super) enum Role<'s> {
    /// The object belongs to another version, or to none.
    Bystander,
    /// The object enters from another version, or without a label: it is judged as a new object.
    Entered { from: Option<String> },
    /// The object leaves for another version: only the release from `this` is judged.
    Left { this: &'s ControllerVersion, to: String },
    /// The object belongs to this server, before and after.
    Owner,
    /// The object belongs to another version and is judged for metrics only.
    Shadow,
}

impl<'s> Role<'s> {
    pub(super) fn of(kind: &Kind, settings: &'s Settings, write: &Write<'_>) -> Self {
        let new = Label::of(&write.new, kind, settings);
        let old = write.old.as_ref().map(|old| Label::of(old, kind, settings));
        match (old, new) {
            (None | Some(Label::ThisVersion), Label::ThisVersion) => Self::Owner,
            (None | Some(Label::None), Label::None) if settings.default => Self::Owner,
            (Some(Label::Other { version, .. }), Label::ThisVersion) => Self::Entered { from: Some(version) },
            (Some(Label::None | Label::Malformed), Label::ThisVersion) => Self::Entered { from: None },
            (Some(Label::ThisVersion), Label::Other { this, version }) => Self::Left { this, to: version },
            (_, Label::Other { version, .. })
                if settings.shadowed.iter().any(|shadowed| shadowed.as_str() == version) =>
            {
                Self::Shadow
            }
            // The guard policy rejects a label that is not served. An unchanged label needs no check.
            (_, Label::Malformed | Label::None | Label::Other { .. }) => Self::Bystander,
        }
    }
}
