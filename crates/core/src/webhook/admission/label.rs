//! The meaning of an object's version label for one server.

use super::{controller::ControllerVersion, settings::Settings, write::SentObject};
use crate::definition::Kind;

/// The owner of an object, by its version label.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Label<'s> {
    /// The label is no valid controller version.
    Malformed,
    /// The object has no label.
    None,
    /// The object belongs to another controller version than `this`, that of the server.
    Other { this: &'s ControllerVersion, version: String },
    /// The object belongs to this server.
    ThisVersion,
}

impl<'s> Label<'s> {
    /// The label of an object. A server without a controller version owns every object.
    pub(super) fn of(object: &SentObject<'_>, kind: &Kind, settings: &'s Settings) -> Self {
        match object.label(&kind.admission.version_label) {
            None if settings.controller.is_none() => Self::ThisVersion,
            None => Self::None,
            Some(value) => value.as_str().map_or(Self::Malformed, |text| Self::read(&text, settings)),
        }
    }

    /// A label with this value.
    pub(super) fn read(text: &str, settings: &'s Settings) -> Self {
        match &settings.controller {
            None => Self::ThisVersion,
            Some(this) if this.as_str() == text => Self::ThisVersion,
            Some(this) if text.parse::<ControllerVersion>().is_ok() => Self::Other { this, version: text.to_owned() },
            Some(_) => Self::Malformed,
        }
    }
}
