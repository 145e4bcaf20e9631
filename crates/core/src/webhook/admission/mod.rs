//! Who may write what: objects judged by the controller version that manages them, and stamped for it.
//!
//! The version label says who that is. An update that changes it reaches both versions, because the API server matches
//! the selector against the old object or the new one: the version that is left checks that it may be left, the version
//! that is entered checks the way there and the whole object. Nobody judges an object that is another version's. What no
//! version selects (no label, an unknown or a malformed one) is for the policy that guards the label.

mod compare;
mod field;
mod field_path;
mod handover;
mod mutate;
mod review;
mod rules;
mod validate;
mod warnings;

use std::sync::Arc;

use semver::Version;

pub use field::{FieldError, Reason};
pub(crate) use field_path::the_same;
pub use mutate::PatchOperation;
pub(super) use review::handle;

use super::Webhook;
use super::convert::{ConvertError, Object};
use crate::definition::Kind;
use crate::json::Json;
use crate::upgrade;

/// What a server does with a violation.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Enforcement {
    /// Count it where it would have been denied, tell nobody but the audit log.
    Audit,
    /// Deny.
    #[default]
    Enforce,
    /// Let it pass with a warning.
    Warn,
}

impl Enforcement {
    /// The name of the mode, as flags and metrics spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Enforce => "enforce",
            Self::Warn => "warn",
        }
    }
}

/// A controller version, as labels spell it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ControllerVersion {
    text: String,
    version: Version,
}

/// A text that is no controller version.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is no controller version: write it as the label has it, such as 2.17.0")]
pub struct NotAVersion(String);

impl std::str::FromStr for ControllerVersion {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let label = text.len() <= 63
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric());
        match upgrade::version(text).filter(|_| label) {
            Some(version) => Ok(Self { text: text.to_owned(), version }),
            None => Err(NotAVersion(text.to_owned())),
        }
    }
}

impl ControllerVersion {
    /// The version as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// How one server admits objects.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The controller version whose rules this server has. Without one, every object is its own and no label counts.
    pub controller: Option<ControllerVersion>,
    /// This server also takes objects without a label, and gives new ones its own.
    pub default: bool,
    /// All controller versions that are served, if the server was told: another one in a label is worth a warning.
    pub served: Vec<ControllerVersion>,
    /// What is done with a violation.
    pub enforcement: Enforcement,
    /// Versions whose objects this server judges as well, only to count where it would have denied: a new version looks
    /// on before anything is its own. What it finds is never enforced and never told to users.
    pub shadowed: Vec<ControllerVersion>,
}

/// What the version label of an object says to this server.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Label {
    Malformed(String),
    None,
    Other(String),
    Own(String),
}

impl Settings {
    fn class(&self, text: &str) -> Label {
        match (&self.controller, text.parse::<ControllerVersion>()) {
            (None, _) => Label::Own(text.to_owned()),
            (Some(own), _) if own.text == text => Label::Own(text.to_owned()),
            (Some(_), Ok(_)) => Label::Other(text.to_owned()),
            (Some(_), Err(_)) => Label::Malformed(text.to_owned()),
        }
    }

    fn label(&self, object: &Json<'_>, key: &str) -> Label {
        match entry(object, "labels", key) {
            None if self.controller.is_none() => Label::Own(String::new()),
            None => Label::None,
            Some(value) => match value.as_str() {
                Some(text) => self.class(&text),
                None => Label::Malformed(value.to_text()),
            },
        }
    }
}

/// A label or an annotation of an object. Null is none.
fn entry(object: &Json<'_>, map: &str, key: &str) -> Option<Json<'static>> {
    let metadata = object.get("metadata")?;
    let map = metadata.get(map)?;
    let value = map.get(key)?.into_owned();
    (!value.is_null()).then_some(value)
}

/// An object that is created or updated, with what it was before.
struct Written<'a> {
    object: Json<'a>,
    old: Option<Json<'a>>,
    new_text: String,
    old_text: Option<String>,
}

impl<'a> Written<'a> {
    fn new(object: Json<'a>, old: Option<Json<'a>>) -> Self {
        let (new_text, old_text) = (object.to_text(), old.as_ref().map(Json::to_text));
        Self { object, old, new_text, old_text }
    }

    fn label(&self, settings: &Settings, kind: &Kind) -> Label {
        settings.label(&self.object, &kind.admission.version_label)
    }

    fn old_label(&self, settings: &Settings, kind: &Kind) -> Option<Label> {
        self.old.as_ref().map(|old| settings.label(old, &kind.admission.version_label))
    }

    fn read_new(&self) -> Result<Object<'_>, ConvertError> {
        Object::read(&self.new_text)
    }

    fn read_old(&self) -> Option<Result<Object<'_>, ConvertError>> {
        self.old_text.as_deref().map(Object::read)
    }
}

/// What became of a change of the version label.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flip {
    /// Refused on entering this version.
    EnterRefused,
    /// This version took the object over.
    Entered,
    /// This version let the object go.
    Left,
    /// Refused on leaving this version.
    LeaveRefused,
}

impl Flip {
    /// The name for metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EnterRefused => "enter_refused",
            Self::Entered => "entered",
            Self::Left => "left",
            Self::LeaveRefused => "leave_refused",
        }
    }
}

/// What a rule led to, for metrics. Names come from definitions, never from objects.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Verdict {
    /// The kind, as its definition names it.
    pub kind: Arc<str>,
    /// The rule, as `rule:field`.
    pub rule: String,
    /// `deny`, `warn`, or `would_deny`.
    pub effect: &'static str,
}

/// The judgement of one write.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Judgement {
    /// What is denied, in `Enforce` mode.
    pub errors: Vec<FieldError>,
    /// What the user is told either way: short, without control characters.
    pub warnings: Vec<String>,
    /// What the audit log gets: key without a slash, value.
    pub audit: Vec<(String, String)>,
    /// What counts.
    pub verdicts: Vec<Verdict>,
    /// What became of a change of the label.
    pub flip: Option<Flip>,
}

/// The patch for an object outside a review.
pub(super) fn patch_of(
    webhook: &Webhook,
    new: &str,
    old: Option<&str>,
) -> Result<Vec<PatchOperation>, ConvertError> {
    let (kind, written) = written(webhook, new, old)?;
    Ok(mutate::patch(kind, &webhook.settings, &written))
}

/// The judgement of an object outside a review.
pub(super) fn judge_of(
    webhook: &Webhook,
    new: &str,
    old: Option<&str>,
) -> Result<(Judgement, Option<String>), ConvertError> {
    let (kind, written) = written(webhook, new, old)?;
    let judgement = validate::judge(kind, &webhook.settings, &written);
    let message = (!judgement.errors.is_empty())
        .then(|| review::invalid(kind, &written.object, &judgement.errors));
    Ok((judgement, message))
}

fn written<'w, 'a>(
    webhook: &'w Webhook,
    new: &'a str,
    old: Option<&'a str>,
) -> Result<(&'w Kind, Written<'a>), ConvertError> {
    let parse = |text: &'a str| {
        let text = super::checked(text)?;
        Ok(Json::borrowed(text))
    };
    let old = old.map(parse).transpose()?;
    let new = parse(new)?;
    let kind = webhook.kind_of(&Object::read(super::checked(&new.to_text())?)?)?;
    Ok((kind, Written::new(new, old)))
}
