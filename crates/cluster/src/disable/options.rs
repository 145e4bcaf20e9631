//! Options, progress events, result and errors of `disable`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::call_error::CallError;
use crate::dry_run::DryRun;
use crate::migrate::MigrateError;
use crate::ownership::{ObjectConversion, VersionCounts};

/// How a CRD is disabled.
pub struct DisableOptions {
    /// The CRD's name: `plural.group`.
    pub name: String,
    /// The CRD with the conversion that is to go. One that leads elsewhere is somebody else's.
    pub enabled: Value,
    /// The version that stays served, where there is more than one: the others are no longer.
    pub served: Option<String>,
    /// Delete webhook configurations and policies of ours that are about this kind alone.
    pub admission: bool,
    /// What says how fields of other versions are called in the one that stays.
    pub conversion: Option<ObjectConversion>,
    /// Change nothing.
    pub dry_run: Option<DryRun>,
    /// How long API servers may take to hear of a change of the CRD.
    pub settle: Duration,
    /// Objects that are listed at a time.
    pub page: u32,
}

/// Something that is to be done.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DisableStep {
    /// Versions are no longer served.
    Unserve {
        /// The version that stays.
        stays: String,
        /// Those that go.
        gone: Vec<String>,
    },
    /// A webhook configuration or policy is deleted.
    Delete {
        /// Kind and name.
        document: String,
    },
    /// The conversion is led to nobody, and every object is listed.
    LastLook {
        /// At this version.
        version: String,
    },
    /// The CRD says that nothing is converted.
    LetGo,
}

impl fmt::Display for DisableStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unserve { stays, gone } => {
                write!(f, "serve {stays} alone; requests for {} get 404 from then on", gone.join(" or "))
            }
            Self::Delete { document } => write!(f, "delete {document}"),
            Self::LastLook { version } => {
                write!(
                    f,
                    "point the conversion at an unreachable webhook and list all objects at {version}; restore it if the list fails"
                )
            }
            Self::LetGo => write!(f, "remove the conversion (strategy None)"),
        }
    }
}

/// Progress of `disable`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DisableEvent {
    /// What is going to be done, in order.
    Plan(Vec<DisableStep>),
    /// A step was done.
    Done(DisableStep),
    /// The API server accepts a step of a dry run.
    Accepted(DisableStep),
    /// What field managers own was written down in other versions, and is translated to the one that stays.
    Translated {
        /// So many objects were written for that.
        objects: u64,
    },
    /// Owner references to other versions were renamed to the one that stays.
    Renamed {
        /// So many objects were written for that.
        objects: u64,
    },
    /// Waits until every API server knows.
    Settling(Duration),
    /// The API server is busy or away; the same call is tried again.
    Trying {
        /// What it said.
        error: CallError,
        /// After this long.
        pause: Duration,
    },
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Disabled {
    /// The CRD.
    pub crd: String,
    /// The version that is served and stored.
    pub version: String,
    /// What was done, or would be.
    pub steps: Vec<DisableStep>,
    /// Objects that were listed at the end, without a conversion. None in a dry run.
    pub objects: Option<u64>,
    /// How many of them have an annotation that keeps what only another version could say, by that version.
    pub kept: BTreeMap<String, u64>,
    /// How many of them name another version than the one that stays.
    pub named: VersionCounts,
    /// Webhook configurations and policies of ours about this kind that are still there.
    pub registered: Vec<String>,
    /// Why that is not known, where it is not.
    pub unlisted: Option<String>,
}

/// Why a CRD was not disabled.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DisableError {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Something would be lost, or somebody else's be taken.
    #[error("nothing was changed: {0}")]
    Refused(String),
    /// A change was made and does not come into force.
    #[error("{0}. What was done stays. Run the same command again to continue")]
    Stuck(String),
    /// Field managers would own nothing any more that they own by the names of a version that goes.
    #[error(
        "the conversion was left unchanged: field managers of {count} objects own fields in another version than {version}, \
         and these entries cannot be translated. The first is {first}. What was done stays. Run the same command again to continue"
    )]
    Owned {
        /// So many.
        count: usize,
        /// The version that stays.
        version: String,
        /// Its name, and what the API server said.
        first: String,
    },
    /// Objects were to be written so that field managers keep what they own.
    #[error(transparent)]
    Unwritten(#[from] MigrateError),
    /// The last look has found an object that needs a conversion, or could not be made.
    #[error("{reason}; {after}")]
    Needed {
        /// What was seen.
        reason: String,
        /// What became of the conversion.
        after: String,
    },
}

impl DisableError {
    /// The call that failed, where it is one.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            Self::Unwritten(error) => error.call(),
            _ => None,
        }
    }
}
