//! Options, progress events and errors of `enable`.

use std::fmt;

use serde_json::Value;

use crate::call_error::CallError;
use crate::conversion::{NoEndpoints, Probe};
use crate::dry_run::DryRun;

/// What the cluster is to hold, where a certain version is stored.
#[derive(Clone, Debug)]
pub struct DesiredCrd {
    /// That version.
    pub storage: String,
    /// What must be there before: policies.
    pub before: Vec<Value>,
    /// The CRD, with its conversion.
    pub crd: Value,
}

/// How a CRD is enabled.
#[derive(Clone, Debug)]
pub struct EnableOptions {
    /// The CRD's name: `plural.group`.
    pub name: String,
    /// What is to be there, for each version that the CRD may store; the first one for a CRD that is not there yet. The
    /// storage version is not enabling's to change: `migrate` does that.
    pub wanted: Vec<DesiredCrd>,
    /// What is asked before.
    pub probes: Vec<Probe>,
    /// An object of each version, to see that it can be created; none is stored.
    pub samples: Vec<Value>,
    /// Webhook configurations and policies that are applied once the CRD is enabled.
    pub registered: Vec<Value>,
    /// Objects that these are asked about, at each version; none is stored.
    pub judged: Vec<Value>,
    /// `host:port` to ask, instead of those that the Service leads to.
    pub endpoints: Vec<String>,
    /// Take fields over that somebody else applied: of the CRD, of what must be there before, and of what is
    /// registered.
    pub force: bool,
    /// Take the conversion over from another webhook.
    pub repoint: bool,
    /// Test every endpoint, and change nothing.
    pub dry_run: Option<DryRun>,
}

/// Something that is to be done.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EnableStep {
    /// Every endpoint is asked what an API server would ask.
    Ask {
        /// Whose endpoints.
        place: String,
    },
    /// A document is applied.
    Apply {
        /// Kind and name.
        document: String,
    },
    /// A version is read, and an object created there as a dry run.
    Try {
        /// The version.
        version: String,
    },
}

impl fmt::Display for EnableStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask { place } => write!(f, "test every endpoint of {place} with the calls of an API server"),
            Self::Apply { document } => write!(f, "apply {document}"),
            Self::Try { version } => write!(f, "read {version} and create a sample object there (dry run)"),
        }
    }
}

/// Progress of `enable`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EnableEvent {
    /// What is going to be done, in order.
    Plan(Vec<EnableStep>),
    /// An endpoint gave every answer that it should.
    Answers {
        /// `host:port`.
        endpoint: String,
        /// How many reviews.
        probes: usize,
    },
    /// Fields are taken over from somebody else.
    TakenOver {
        /// Kind and name.
        document: String,
        /// From whom, and which field.
        conflict: String,
    },
    /// A document trusts other authorities, and is going to trust those that were given.
    BundleReplaced {
        /// Kind and name.
        document: String,
        /// The field managers that have set them.
        managers: Vec<String>,
    },
    /// cert-manager writes authorities into a document, and will overwrite those that were given.
    BundleInjected {
        /// Kind and name.
        document: String,
        /// By this annotation of it.
        annotation: &'static str,
        /// What it names.
        value: String,
    },
    /// A document was applied.
    Applied {
        /// Kind and name.
        document: String,
    },
    /// A note of a way out that was begun could not be taken off the CRD. The next enable takes it off.
    NoteLeft {
        /// The annotation.
        annotation: &'static str,
        /// What was in the way.
        reason: String,
    },
    /// A version can be read.
    Reads {
        /// The version.
        version: String,
    },
    /// An object can be created at a version.
    Creates {
        /// The version.
        version: String,
        /// What was said to this one, where it was refused.
        refused: Option<String>,
    },
    /// Something failed, and the CRD is again what it was.
    PutBack,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Enabled {
    /// The CRD.
    pub crd: String,
    /// What was to be done.
    pub steps: Vec<EnableStep>,
    /// The endpoints that were tested.
    pub endpoints: Vec<String>,
    /// The versions that were read afterwards.
    pub versions: Vec<String>,
    /// Whether the CRD was there, and said this already.
    pub unchanged: bool,
}

/// Why a CRD was not enabled.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnableError {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It would harm what is there.
    #[error("{0}")]
    Refused(String),
    /// Nobody answers as the API server would be answered.
    #[error("nothing was changed: {0}")]
    Untested(String),
    /// Somebody else applied these fields.
    #[error(
        "nothing was changed: another field manager owns fields of {document} ({conflicts}). --force-conflicts takes ownership; \
         applying the old manifest again undoes this"
    )]
    Conflict {
        /// Kind and name.
        document: String,
        /// Who, and which fields.
        conflicts: String,
    },
    /// The CRD changed again and again while it was to be enabled.
    #[error(
        "{crd} was changed by another client {times} times during enable. Find the client with kubectl get --show-managed-fields, stop it, and run enable again"
    )]
    Changing {
        /// The CRD.
        crd: String,
        /// How often.
        times: u16,
    },
    /// It was applied, and does not work.
    #[error("{reason}; {after}")]
    Unread {
        /// What was seen.
        reason: String,
        /// What became of the CRD.
        after: String,
    },
}

impl EnableError {
    /// The call that failed, where it is one.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }
}

impl From<NoEndpoints> for EnableError {
    fn from(error: NoEndpoints) -> Self {
        match error {
            NoEndpoints::Call(error) => Self::Call(error),
            NoEndpoints::Nobody(reason) => Self::Untested(reason),
        }
    }
}
