//! What the version label of an object says to one server.

use super::{controller::ControllerVersion, settings::Settings, write::SentObject};
use crate::definition::Kind;

/// Whose an object is, by its version label.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Label<'s> {
    /// The label holds no controller version.
    Malformed,
    /// There is no label.
    None,
    /// Another controller version's, where this server's is `this`.
    Other { this: &'s ControllerVersion, version: String },
    /// This server's.
    ThisVersion,
}

impl<'s> Label<'s> {
    /// The label of an object. Without a controller version of its own, every object is a server's own.
    pub(super) fn of(object: &SentObject<'_>, kind: &Kind, settings: &'s Settings) -> Self {
        match object.label(&kind.admission.version_label) {
            None if settings.controller.is_none() => Self::ThisVersion,
            None => Self::None,
            Some(value) => value.as_str().map_or(Self::Malformed, |text| Self::read(&text, settings)),
        }
    }

    /// A label with this value.
    pub(super) fn read(text: &str, settings: &'s Settings) -> Self {
        match (&settings.controller, text.parse::<ControllerVersion>()) {
            (None, _) => Self::ThisVersion,
            (Some(this), _) if this.as_str() == text => Self::ThisVersion,
            (Some(this), Ok(_)) => Self::Other { this, version: text.to_owned() },
            (Some(_), Err(_)) => Self::Malformed,
        }
    }
}
