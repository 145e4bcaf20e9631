//! Why a rollout cannot be read, written or run.

use pointsman_core::rollout::BadRollout;

use crate::call_error::CallError;

/// Why a rollout cannot be read, written or run. Whoever runs it can be started again: it goes on where it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RolloutError {
    /// A call failed, and would fail again.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The fleet cannot be read in the version that the definition speaks of.
    #[error("{crd} does not serve {version}, by which the definition looks at objects: it serves {}", served.join(", "))]
    NotServed {
        /// The CRD.
        crd: String,
        /// What the definition speaks of.
        version: String,
        /// What is served.
        served: Vec<String>,
    },
    /// The StagedRollout says something that cannot be so.
    #[error(transparent)]
    Bad(#[from] BadRollout),
    /// There is no such StagedRollout.
    #[error("there is no rollout {name} in this cluster{meant}")]
    NoRollout {
        /// What was asked for.
        name: String,
        /// The one that was meant, where that can be told.
        meant: String,
    },
    /// The cluster does not know StagedRollouts.
    #[error("this cluster does not know StagedRollouts")]
    NoRollouts,
    /// Somebody else runs it.
    #[error("rollout {name} is run by {by}")]
    Held {
        /// The StagedRollout.
        name: String,
        /// Who.
        by: String,
    },
    /// Somebody else has taken it over.
    #[error("lost rollout {name} to {to}: nothing more was written here")]
    Lost {
        /// The StagedRollout.
        name: String,
        /// Who.
        to: String,
    },
    /// It was written by others each time.
    #[error("rollout {0} was changed by others each time it was to be written: try again")]
    Raced(String),
    /// It is not over.
    #[error("rollout {name} is {phase}: what it has left on objects is needed until it is over")]
    NotOver {
        /// The StagedRollout.
        name: String,
        /// What it has come to.
        phase: String,
    },
    /// What somebody asks for cannot be.
    #[error("{0}")]
    Asked(String),
}

impl RolloutError {
    /// The call that failed, where it is one.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }

    /// What somebody can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoRollouts => Some("pointsman rollout crd | kubectl apply -f -"),
            Self::NoRollout { .. } => Some("pointsman rollout list shows those that there are"),
            Self::Call(error) => error.hint(),
            _ => None,
        }
    }
}
