//! Options, progress events, result and errors of `disable`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::call_error::CallError;
use crate::dry_run::DryRun;
use crate::migrate::MigrateError;
use crate::ownership::{ObjectConversion, VersionCounts};

/// Options of `disable`.
pub struct DisableOptions {
    /// The CRD's name: `plural.group`.
    pub name: String,
    /// The CRD with the conversion to remove. Another conversion is foreign.
    pub enabled: Value,
    /// The version that stays served, if there are several: the others are no longer served.
    pub served: Option<String>,
    /// Delete webhook configurations and policies of pointsman for this kind alone.
    pub admission: bool,
    /// Translates field names of other versions to the remaining one.
    pub conversion: Option<ObjectConversion>,
    /// Dry run mode.
    pub dry_run: Option<DryRun>,
    /// Time for API servers to receive a change of the CRD.
    pub settle: Duration,
    /// Objects per page.
    pub page: u32,
}

/// A step of `disable`.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DisableStep {
    /// Stops serving versions.
    Unserve {
        /// The remaining version.
        stays: String,
        /// The versions no longer served.
        removed: Vec<String>,
    },
    /// Deletes a webhook configuration or policy.
    Delete {
        /// Kind and name.
        document: String,
    },
    /// Points the conversion at an unreachable webhook, and lists every object.
    FinalCheck {
        /// The version of the list.
        version: String,
    },
    /// Sets the conversion strategy to None.
    RemoveConversion,
}

impl fmt::Display for DisableStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unserve { stays, removed } => {
                write!(f, "serve {stays} alone; requests for {} get 404 from then on", removed.join(" or "))
            }
            Self::Delete { document } => write!(f, "delete {document}"),
            Self::FinalCheck { version } => {
                write!(
                    f,
                    "point the conversion at an unreachable webhook and list all objects at {version}; restore \
                         the conversion if the list fails"
                )
            }
            Self::RemoveConversion => write!(f, "remove the conversion (strategy None)"),
        }
    }
}

/// Progress of `disable`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DisableEvent {
    /// The planned steps, in order.
    Plan(Vec<DisableStep>),
    /// A finished step.
    Done(DisableStep),
    /// A step that the API server accepted as dry run.
    Accepted(DisableStep),
    /// Field ownership was translated from other versions to the remaining one.
    Translated {
        /// The number of written objects.
        objects: u64,
    },
    /// Owner references to other versions were changed to the remaining one.
    Renamed {
        /// The number of written objects.
        objects: u64,
    },
    /// Waits until every API server has received the change.
    Settling(Duration),
    /// The API server is overloaded or down; the call is retried.
    Trying {
        /// The error.
        error: CallError,
        /// The pause.
        pause: Duration,
    },
}

/// The result of `disable`.
#[derive(Clone, Debug)]
pub struct Disabled {
    /// The CRD.
    pub crd: String,
    /// The served storage version.
    pub version: String,
    /// The steps, done or planned.
    pub steps: Vec<DisableStep>,
    /// Objects listed at the end without conversion. `None` in a dry run.
    pub objects: Option<u64>,
    /// The number of objects with a kept annotation, by version of the annotation.
    pub kept: BTreeMap<String, u64>,
    /// The number of objects that refer to other versions.
    pub named: VersionCounts,
    /// Remaining webhook configurations and policies of pointsman for this kind.
    pub registered: Vec<String>,
    /// The reason why these are unknown, if so.
    pub unlisted: Option<String>,
}

/// An error of `disable`.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DisableError {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Data would be lost, or the conversion is foreign.
    #[error("the cluster is unchanged: {0}")]
    Refused(String),
    /// A change was made without taking effect.
    #[error("{0}. Completed steps stay. Run the same command again to continue")]
    Stuck(String),
    /// Field managers would lose ownership that is recorded in a version to be removed.
    #[error(
        "the conversion is unchanged: field managers of {count} objects own fields in another version than \
             {version}, and these entries cannot be translated. The first is {first}. Completed steps stay. Run the \
             same command again to continue"
    )]
    Owned {
        /// The number of objects.
        count: usize,
        /// The version that stays.
        version: String,
        /// Its name, and the API server's message.
        first: String,
    },
    /// Writes that preserve field ownership failed.
    #[error(transparent)]
    Unwritten(#[from] MigrateError),
    /// The final list found an object that needs a conversion, or failed.
    #[error("{reason}; {after}")]
    Needed {
        /// The finding.
        reason: String,
        /// The state of the conversion.
        after: String,
    },
}

impl DisableError {
    /// The failed call, if any.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            Self::Unwritten(error) => error.call(),
            _ => None,
        }
    }
}
