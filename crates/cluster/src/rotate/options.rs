//! Options, progress events, result and errors of `rotate-ca`.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::call_error::CallError;
use crate::dry_run::DryRun;

/// How an authority is changed.
#[derive(Clone, Debug)]
pub struct RotateOptions {
    /// A `clientConfig`: whose authority it is, and in its `caBundle` who is to be trusted in the end. Its path and the
    /// port of its Service do not matter.
    pub client: Value,
    /// `host:port` to ask, instead of those that the Service leads to.
    pub endpoints: Vec<String>,
    /// Write bundles also where cert-manager does, and have it do so no more.
    pub take_over: bool,
    /// How long to wait until every endpoint shows a certificate of the new authority.
    pub wait: Duration,
    /// How long API servers may take to hear of a bundle.
    pub settle: Duration,
    /// Change nothing.
    pub dry_run: Option<DryRun>,
}

/// A document that says whom the API server trusts for this server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trusting {
    /// Kind and name.
    pub document: String,
    /// Whether it is a CRD: a change of one has the API server build its caches of the kind anew.
    pub is_crd: bool,
}

/// Something that is to be done.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RotateStep {
    /// The new authority is trusted beside what is trusted already.
    Publish(Trusting),
    /// Every endpoint is asked for a certificate of the new authority, for as long as this.
    Prove(Duration),
    /// The new authority alone is trusted.
    Drop(Trusting),
    /// What was trusted before is trusted again, since it is needed.
    Restore(Trusting),
}

impl fmt::Display for RotateStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish(one) => write!(f, "trust the new authority beside the old one in {}", one.document),
            Self::Prove(wait) => {
                write!(f, "ask every endpoint for a certificate of the new authority")?;
                if wait.is_zero() { Ok(()) } else { write!(f, ", and wait for it for up to {wait:?}") }
            }
            Self::Drop(one) => write!(f, "trust the new authority alone in {}", one.document),
            Self::Restore(one) => write!(f, "trust the old authority again in {}", one.document),
        }
    }
}

/// What a change of authority says on the way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RotateEvent {
    /// What is going to be done, in order.
    Plan(Vec<RotateStep>),
    /// A document was changed.
    Done(RotateStep),
    /// The API server accepts the change of a document in a dry run.
    Accepted(RotateStep),
    /// Waits until every API server knows.
    Settling(Duration),
    /// An endpoint shows a certificate of the new authority.
    Shows {
        /// `host:port`.
        endpoint: String,
    },
    /// An endpoint does not yet; it is asked again.
    Waiting {
        /// What is in the way.
        reason: String,
    },
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Rotated {
    /// What was to be done.
    pub steps: Vec<RotateStep>,
    /// The documents that say whom the API server trusts.
    pub documents: Vec<String>,
    /// The endpoints that show a certificate of the new authority.
    pub endpoints: Vec<String>,
    /// How often a CRD was changed.
    pub crd_changes: u32,
}

/// Why an authority was not changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RotateError {
    /// A call failed.
    #[error("{error}{}", after(.done))]
    Call {
        /// The call.
        error: CallError,
        /// What was changed before.
        done: Vec<RotateStep>,
    },
    /// Something would fail, or be taken from somebody.
    #[error("nothing was changed: {0}")]
    Refused(String),
    /// Not everybody shows a certificate of the new authority.
    #[error("{reason}. {}. {next}, and run the same command again", trusted(*.both))]
    Unproven {
        /// Who, and what is in the way.
        reason: String,
        /// Whether the old authority is trusted beside the new one.
        both: bool,
        /// What somebody has to do.
        next: &'static str,
    },
    /// The old authority was needed after all.
    #[error("{reason}; {after}")]
    Needed {
        /// What was seen.
        reason: String,
        /// What became of the bundles.
        after: String,
    },
}

/// What comes of it that a server does not show a certificate of the new authority.
fn trusted(both: bool) -> &'static str {
    if both {
        "Both authorities are trusted, so that no call fails"
    } else {
        "Nothing else is trusted: calls to it fail"
    }
}

/// What was done before a call failed.
fn after(done: &[RotateStep]) -> String {
    let done: Vec<String> = done.iter().map(ToString::to_string).collect();
    match done.is_empty() {
        true => String::new(),
        false => format!(". Done until then: {}. The same command goes on", done.join("; ")),
    }
}

impl RotateError {
    /// The call that failed, where it is one.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<CallError> for RotateError {
    fn from(error: CallError) -> Self {
        Self::Call { error, done: Vec::new() }
    }
}
