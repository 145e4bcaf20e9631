//! What we decide: reviews in, reviews out. Nothing here reads a file, a clock or a socket.

mod admission;
mod convert;
mod review;
mod rollout;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use admission::the_same;
pub use admission::{
    ControllerVersion, Enforcement, FieldError, Flip, Judgement, NotAVersion, PatchOperation,
    Reason, Settings, Verdict,
};
pub use convert::{Change, ConvertError, Converted, Metadata};
pub(crate) use rollout::digest;
pub use rollout::{HASH_SCHEMA, Preimage};

use crate::definition::Kind;
use convert::Object;

/// Which of the three webhook calls a request is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Endpoint {
    /// `POST /convert`: a `ConversionReview`.
    Convert,
    /// `POST /mutate`: an `AdmissionReview` answered with a patch.
    Mutate,
    /// `POST /validate`: an `AdmissionReview` answered with a verdict.
    Validate,
}

/// What was decided, for metrics and logs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Outcome {
    /// Admitted as it is.
    Allow,
    /// Every object converted.
    Convert,
    /// Denied.
    Deny,
    /// A review that says why nothing was converted or judged.
    Fail,
    /// Admitted with a patch.
    Patch,
}

/// How many objects went from one version to another in a review.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Conversions {
    /// The kind, as its definition names it.
    pub kind: Arc<str>,
    /// The version the objects came in.
    pub from: Arc<str>,
    /// The version they were asked for in.
    pub to: Arc<str>,
    /// How many objects.
    pub objects: u64,
}

/// Something worth counting and logging that did not change the answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Notice {
    /// A constant name, safe as a metric label.
    pub event: &'static str,
    /// The object, as `namespace/name`.
    pub object: String,
}

/// An answer that is sent with HTTP 200.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The review, as JSON.
    pub body: Vec<u8>,
    /// What was decided.
    pub outcome: Outcome,
    /// The uid of the request, for the log.
    pub uid: String,
    /// Why, where `outcome` is `Deny` or `Fail`: the text the user is shown.
    pub message: Option<String>,
    /// What was converted.
    pub conversions: Vec<Conversions>,
    /// What else happened.
    pub notices: Vec<Notice>,
    /// What the rules led to.
    pub verdicts: Vec<Verdict>,
    /// What became of a change of the version label.
    pub flip: Option<Flip>,
}

/// A body that is no review, or one without a uid to answer to: HTTP 400 with a `v1 Status` (see [`refusal`]).
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadReview {
    /// The body is JSON, but no review that could be answered.
    #[error("{reason}")]
    NoReview {
        /// What is missing or other than expected.
        reason: String,
    },
    /// The body is not JSON.
    #[error("request body is not JSON: {reason}")]
    NotJson {
        /// Where and what.
        reason: String,
    },
}

/// The decisions of one server: its kinds and their rules. Shared by all requests, never changed.
#[derive(Debug)]
pub struct Webhook {
    kinds: Vec<Kind>,
    metadata: Metadata,
    settings: Settings,
}

/// Two definitions of one kind.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{kind}.{group} is defined twice, as {first:?} and as {second:?}: remove one")]
pub struct DefinedTwice {
    /// The kind.
    pub kind: String,
    /// Its group.
    pub group: String,
    /// The name of the first definition.
    pub first: String,
    /// The name of the second one.
    pub second: String,
}

impl Webhook {
    /// A server for these kinds.
    ///
    /// # Errors
    /// A kind, or a name, that stands twice.
    pub fn new(kinds: Vec<Kind>, metadata: Metadata) -> Result<Self, DefinedTwice> {
        for (index, kind) in kinds.iter().enumerate() {
            let same = |other: &&Kind| {
                (&other.group, &other.kind) == (&kind.group, &kind.kind) || other.name == kind.name
            };
            if let Some(other) = kinds.iter().take(index).find(same) {
                let (first, second) = (other.name.to_string(), kind.name.to_string());
                return Err(DefinedTwice {
                    kind: kind.kind.clone(),
                    group: kind.group.clone(),
                    first,
                    second,
                });
            }
        }
        Ok(Self { kinds, metadata, settings: Settings::default() })
    }

    /// The same server, admitting objects so.
    #[must_use]
    pub fn admitting(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The kinds this server knows.
    #[must_use]
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Answers one request body. Takes time in proportion to the body and does no I/O.
    ///
    /// # Errors
    /// [`BadReview`] where the body has no request uid that an answer could carry.
    pub fn handle(&self, endpoint: Endpoint, body: &[u8]) -> Result<Reply, BadReview> {
        match endpoint {
            Endpoint::Convert => review::convert(self, body),
            Endpoint::Mutate | Endpoint::Validate => admission::handle(self, endpoint, body),
        }
    }

    /// Converts one object to a version of its kind, given by name, with all its metadata.
    ///
    /// # Errors
    /// The field that stands in the way.
    pub fn convert(&self, object: &str, to: &str) -> Result<Converted, ConvertError> {
        let (kind, object, to) = self.way(object, to)?;
        convert::convert(kind, object, to, Metadata::Full)
    }

    /// Converts one object as [`Self::convert`] does, and says which operation changed which fields.
    ///
    /// # Errors
    /// The field that stands in the way.
    pub fn explain(
        &self,
        object: &str,
        to: &str,
    ) -> Result<(Converted, Vec<Change>), ConvertError> {
        let (kind, object, to) = self.way(object, to)?;
        convert::explain(kind, object, to, Metadata::Full)
    }

    /// The kind of an object, the object, and the version that is asked for.
    fn way<'o>(
        &self,
        object: &'o str,
        to: &str,
    ) -> Result<(&Kind, Object<'o>, usize), ConvertError> {
        let object = Object::read(checked(object)?)?;
        let kind = self.kind_of(&object)?;
        let version = kind.version(to);
        let to = version.ok_or_else(|| ConvertError::unknown_version("apiVersion", to, kind))?;
        Ok((kind, object, to))
    }

    /// What the rollout hash of an object is made of.
    ///
    /// # Errors
    /// The object cannot be converted to the version that is hashed, or its kind has no rollout hash.
    pub fn preimage(&self, object: &str) -> Result<Preimage, ConvertError> {
        let mut object = Object::read(checked(object)?)?;
        let kind = self.kind_of(&object)?;
        let Some(rollout) = &kind.rollout else {
            return Err(ConvertError::NoRolloutHash { kind: kind.kind.clone() });
        };
        object.convert(kind, rollout.at)?;
        Ok(object.preimage(rollout))
    }

    /// What `/mutate` would change in an object that is created, or updated from `old`.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is not known.
    pub fn patch(&self, new: &str, old: Option<&str>) -> Result<Vec<PatchOperation>, ConvertError> {
        admission::patch_of(self, new, old)
    }

    /// What `/validate` would say of an object that is created, or updated from `old`: the judgement, and the message of
    /// a denial as the API server would show it.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is not known.
    pub fn judge(
        &self,
        new: &str,
        old: Option<&str>,
    ) -> Result<(Judgement, Option<String>), ConvertError> {
        admission::judge_of(self, new, old)
    }

    /// The kind of an object.
    fn kind_of(&self, object: &Object<'_>) -> Result<&Kind, ConvertError> {
        self.kind_named(
            object.api_version.split_once('/').map_or("", |(group, _)| group),
            &object.kind,
        )
    }

    fn kind_named(&self, group: &str, name: &str) -> Result<&Kind, ConvertError> {
        self.kinds.iter().find(|kind| kind.kind == name && kind.group == group).ok_or_else(|| {
            let known = self.kinds.iter().map(|kind| format!("{}.{}", kind.kind, kind.group));
            ConvertError::UnknownKind {
                group: review::bounded(group),
                kind: review::bounded(name),
                known: known.collect(),
            }
        })
    }
}

/// Text from a person: JSON, or not.
fn checked(text: &str) -> Result<&str, ConvertError> {
    match crate::json::Json::parse(text) {
        Ok(_) => Ok(text),
        Err(error) => Err(ConvertError::NotJson { reason: error.to_string() }),
    }
}

/// A `v1 Status` body, which the API server shows to its user where a plain error text would be lost.
#[must_use]
pub fn refusal(code: u16, message: &str) -> Vec<u8> {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": message, "code": code,
    })
    .to_string()
    .into_bytes()
}
