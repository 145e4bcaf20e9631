//! What one server has to say of a write: the table of label changes.

use super::{controller::ControllerVersion, label::Label, settings::Settings, write::Write};
use crate::definition::Kind;

/// Who judges, and how.
pub(super) enum Role<'s> {
    /// Another version's object, or nobody's.
    Bystander,
    /// The object comes from another version, if a label says from which: it is judged whole, as if it were new here.
    Entered { from: Option<String> },
    /// The object goes to another version: only whether `this` may be left is judged.
    Left { this: &'s ControllerVersion, to: String },
    /// Its own object, before and after.
    Owner,
    /// Another version's object, judged only to count.
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
            // A label that nobody serves is refused by the policy that guards it; kept as it was, it is nobody's business.
            (_, Label::Malformed | Label::None | Label::Other { .. }) => Self::Bystander,
        }
    }
}
