//! Options, progress events, result and errors of `rotate-ca`.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::call_error::CallError;
use crate::dry_run::DryRun;

/// Options of `rotate-ca`.
#[derive(Clone, Debug)]
pub struct RotateOptions {
    /// A `clientConfig`: the server, and in its `caBundle` the new authorities. Path and port are ignored.
    pub client: Value,
    /// `host:port` to test, instead of the Service's endpoints.
    pub endpoints: Vec<String>,
    /// Write bundles that cert-manager injects as well, and remove its annotation.
    pub take_over: bool,
    /// Time to wait until every endpoint uses a certificate of the new authority.
    pub wait: Duration,
    /// Time for API servers to receive a bundle.
    pub settle: Duration,
    /// Dry run mode.
    pub dry_run: Option<DryRun>,
}

/// A document with the trusted authorities of this server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trusting {
    /// Kind and name.
    pub document: String,
    /// True for a CRD: a change makes the API server rebuild its caches of the kind.
    pub is_crd: bool,
}

/// A step of `rotate-ca`.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RotateStep {
    /// Trusts the new authority in addition.
    Publish(Trusting),
    /// Tests every endpoint for a certificate of the new authority, for up to this time.
    Prove(Duration),
    /// Trusts only the new authority.
    Drop(Trusting),
    /// Trusts the earlier authorities again, since they are needed.
    Restore(Trusting),
}

impl fmt::Display for RotateStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish(one) => write!(f, "trust the new authority in addition to the old one in {}", one.document),
            Self::Prove(wait) => {
                write!(f, "check that every endpoint has a certificate of the new authority")?;
                if wait.is_zero() { Ok(()) } else { write!(f, ", and wait up to {wait:?}") }
            }
            Self::Drop(one) => write!(f, "trust the new authority alone in {}", one.document),
            Self::Restore(one) => write!(f, "trust the old authority again in {}", one.document),
        }
    }
}

/// Progress of `rotate-ca`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RotateEvent {
    /// The planned steps, in order.
    Plan(Vec<RotateStep>),
    /// A document was changed.
    Done(RotateStep),
    /// The API server accepts a change as dry run.
    Accepted(RotateStep),
    /// Waits until every API server has received the change.
    Settling(Duration),
    /// An endpoint uses a certificate of the new authority.
    Shows {
        /// `host:port`.
        endpoint: String,
    },
    /// An endpoint does not yet; the test is repeated.
    Waiting {
        /// The problem.
        reason: String,
    },
}

/// The result of `rotate-ca`.
#[derive(Clone, Debug, Default)]
pub struct Rotated {
    /// The planned steps.
    pub steps: Vec<RotateStep>,
    /// The documents with trusted authorities.
    pub documents: Vec<String>,
    /// The endpoints with a certificate of the new authority.
    pub endpoints: Vec<String>,
    /// The number of CRD changes.
    pub crd_changes: u32,
}

/// An error of `rotate-ca`.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RotateError {
    /// A call failed.
    #[error("{error}{}", after(.done))]
    Call {
        /// The error.
        error: CallError,
        /// Earlier changes.
        done: Vec<RotateStep>,
    },
    /// The rotation would cause failures, or the bundle belongs to another client.
    #[error("the cluster is unchanged: {0}")]
    Refused(String),
    /// An endpoint lacks a certificate of the new authority.
    #[error("{reason}. {}. {next}, and run the same command again", trusted(*.both))]
    Unproven {
        /// The endpoint, and the problem.
        reason: String,
        /// True if both authorities are trusted.
        both: bool,
        /// The remedy.
        next: &'static str,
    },
    /// The old authority is still needed.
    #[error("{reason}; {after}")]
    Needed {
        /// The finding.
        reason: String,
        /// The state of the bundles.
        after: String,
    },
}

/// The consequence for a server without a certificate of the new authority.
fn trusted(both: bool) -> &'static str {
    if both {
        "Both authorities are trusted, so all calls succeed"
    } else {
        "Other authorities are not trusted: calls with their certificates fail"
    }
}

/// The steps before a failed call.
fn after(done: &[RotateStep]) -> String {
    let done: Vec<String> = done.iter().map(ToString::to_string).collect();
    match done.is_empty() {
        true => String::new(),
        false => format!(". Completed: {}. Run the same command again to continue", done.join("; ")),
    }
}

impl RotateError {
    /// The failed call, if any.
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
