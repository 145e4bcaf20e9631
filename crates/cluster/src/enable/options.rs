//! Options, progress events and errors of `enable`.

use std::fmt;

use serde_json::Value;

use crate::call_error::CallError;
use crate::conversion::{NoEndpoints, Probe};
use crate::dry_run::DryRun;

/// The desired documents for a storage version.
#[derive(Clone, Debug)]
pub struct DesiredCrd {
    /// The storage version.
    pub storage: String,
    /// Documents that are required first: policies.
    pub before: Vec<Value>,
    /// The CRD, with its conversion.
    pub crd: Value,
}

/// Options of `enable`.
#[derive(Clone, Debug)]
pub struct EnableOptions {
    /// The CRD's name: `plural.group`.
    pub name: String,
    /// The desired documents, by possible storage version; the first for a new CRD. `enable` does not change the
    /// storage version: `migrate` does.
    pub wanted: Vec<DesiredCrd>,
    /// Test requests before any change.
    pub probes: Vec<Probe>,
    /// One object per version for a dry run of its creation.
    pub samples: Vec<Value>,
    /// Webhook configurations and policies to apply after the CRD.
    pub registered: Vec<Value>,
    /// Objects that test these, per version, as dry run.
    pub judged: Vec<Value>,
    /// `host:port` to test, instead of the Service's endpoints.
    pub endpoints: Vec<String>,
    /// Override conflicts with other field managers: of the CRD, the required documents and the webhook configurations.
    pub force: bool,
    /// Replace another conversion webhook.
    pub repoint: bool,
    /// Test all endpoints without changes.
    pub dry_run: Option<DryRun>,
}

/// A step of `enable`.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EnableStep {
    /// Sends every endpoint the requests of an API server.
    TestEndpoints {
        /// The server.
        place: String,
    },
    /// Applies a document.
    Apply {
        /// Kind and name.
        document: String,
    },
    /// Reads a version, and creates an object as dry run.
    Try {
        /// The version.
        version: String,
    },
}

impl fmt::Display for EnableStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TestEndpoints { place } => {
                write!(f, "test every endpoint of {place} with the calls of an API server")
            }
            Self::Apply { document } => write!(f, "apply {document}"),
            Self::Try { version } => write!(f, "read {version} and create a sample object in this version (dry run)"),
        }
    }
}

/// Progress of `enable`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EnableEvent {
    /// The planned steps, in order.
    Plan(Vec<EnableStep>),
    /// An endpoint passed all tests.
    Answers {
        /// `host:port`.
        endpoint: String,
        /// The number of reviews.
        probes: usize,
    },
    /// Field ownership is taken from another field manager.
    TakenOver {
        /// Kind and name.
        document: String,
        /// The field manager and the field.
        conflict: String,
    },
    /// The trusted authorities of a document are replaced.
    BundleReplaced {
        /// Kind and name.
        document: String,
        /// The field managers of the earlier ones.
        managers: Vec<String>,
    },
    /// cert-manager injects authorities into a document, and will overwrite the given ones.
    BundleInjected {
        /// Kind and name.
        document: String,
        /// The annotation.
        annotation: &'static str,
        /// Its value.
        value: String,
    },
    /// A document was applied.
    Applied {
        /// Kind and name.
        document: String,
    },
    /// The annotation of an interrupted disable could not be removed from the CRD. The next enable removes it.
    NoteLeft {
        /// The annotation.
        annotation: &'static str,
        /// The error.
        reason: String,
    },
    /// A version is readable.
    Reads {
        /// The version.
        version: String,
    },
    /// An object can be created in a version.
    Creates {
        /// The version.
        version: String,
        /// The message of a refusal, if refused.
        refused: Option<String>,
    },
    /// A step failed, and the CRD is restored.
    PutBack,
}

/// The result of `enable`.
#[derive(Clone, Debug)]
pub struct Enabled {
    /// The CRD.
    pub crd: String,
    /// The planned steps.
    pub steps: Vec<EnableStep>,
    /// The tested endpoints.
    pub endpoints: Vec<String>,
    /// The versions read afterwards.
    pub versions: Vec<String>,
    /// True if the CRD already had the desired content.
    pub unchanged: bool,
}

/// An error of `enable`.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnableError {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The change would do harm.
    #[error("{0}")]
    Refused(String),
    /// An endpoint failed the test.
    #[error("the cluster is unchanged: {0}")]
    Untested(String),
    /// Another field manager owns these fields.
    #[error(
        "the cluster is unchanged: another field manager owns fields of {document} ({conflicts}). \
             --force-conflicts takes ownership; to undo this, apply the old manifest again"
    )]
    Conflict {
        /// Kind and name.
        document: String,
        /// The field managers and fields.
        conflicts: String,
    },
    /// Repeated conflicts with other writers of the CRD.
    #[error(
        "{crd} was changed by another client {times} times during enable. Find the client with kubectl get \
             --show-managed-fields, stop the client, and run enable again"
    )]
    Changing {
        /// The CRD.
        crd: String,
        /// The number of attempts.
        times: u16,
    },
    /// The applied CRD does not work.
    #[error("{reason}; {after}")]
    Unread {
        /// The finding.
        reason: String,
        /// The state of the CRD.
        after: String,
    },
}

impl EnableError {
    /// The failed call, if any.
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
            NoEndpoints::Missing(reason) => Self::Untested(reason),
        }
    }
}
