//! Errors of reading, writing or running a rollout.

use pointsman_rollout::BadRollout;

use crate::call_error::CallError;

/// An error of reading, writing or running a rollout. The runner can be started again, and continues where it stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RolloutError {
    /// A call failed permanently.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The fleet is not served in the version that the definition requires.
    #[error("{crd} does not serve {version}, the version of the definition; served versions: {}", served.join(", "))]
    NotServed {
        /// The CRD.
        crd: String,
        /// The required version.
        version: String,
        /// The served versions.
        served: Vec<String>,
    },
    /// The StagedRollout is invalid.
    #[error(transparent)]
    Bad(#[from] BadRollout),
    /// The StagedRollout does not exist.
    #[error("rollout {name} does not exist in this cluster{meant}")]
    NoRollout {
        /// The requested name.
        name: String,
        /// A suggestion, if similar.
        meant: String,
    },
    /// The CRD of StagedRollouts is not installed.
    #[error("this cluster has no CRD of StagedRollouts")]
    NoRollouts,
    /// Another process runs it.
    #[error("rollout {name} is run by {by}")]
    Held {
        /// The StagedRollout.
        name: String,
        /// The other process.
        by: String,
    },
    /// Another process has taken over.
    #[error("lost rollout {name} to {to}: this runner wrote no more objects")]
    Lost {
        /// The StagedRollout.
        name: String,
        /// The other process.
        to: String,
    },
    /// Conflicts with other writers in every attempt.
    #[error("rollout {0} was changed by other clients at each attempt to write: try again")]
    Raced(String),
    /// It has not finished.
    #[error("rollout {name} is {phase}: its annotations are needed until its end")]
    NotOver {
        /// The StagedRollout.
        name: String,
        /// Its phase.
        phase: String,
    },
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
}

impl RolloutError {
    /// The failed call, if any.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }

    /// The remedy, if known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoRollouts => Some("pointsman rollout crd | kubectl apply -f -"),
            Self::NoRollout { .. } => Some("list the rollouts: pointsman rollout list"),
            Self::Call(error) => error.hint(),
            _ => None,
        }
    }
}
