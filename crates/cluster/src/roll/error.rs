//! Why a roll cannot be read, written or run.

use pointsman_core::roll::BadRoll;

use crate::call_error::CallError;

/// Why a roll cannot be read, written or run. Whoever runs it can be started again: it goes on where it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RollError {
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
    /// The Roll says something that cannot be so.
    #[error(transparent)]
    Bad(#[from] BadRoll),
    /// There is no such Roll.
    #[error("there is no roll {name} in this cluster{meant}")]
    NoRoll {
        /// What was asked for.
        name: String,
        /// The one that was meant, where that can be told.
        meant: String,
    },
    /// The cluster does not know Rolls.
    #[error("this cluster does not know Rolls")]
    NoRolls,
    /// Somebody else runs it.
    #[error("roll {name} is run by {by}")]
    Held {
        /// The Roll.
        name: String,
        /// Who.
        by: String,
    },
    /// Somebody else has taken it over.
    #[error("lost roll {name} to {to}: nothing more was written here")]
    Lost {
        /// The Roll.
        name: String,
        /// Who.
        to: String,
    },
    /// It was written by others each time.
    #[error("roll {0} was changed by others each time it was to be written: try again")]
    Raced(String),
    /// It is not over.
    #[error("roll {name} is {phase}: what it has left on objects is needed until it is over")]
    NotOver {
        /// The Roll.
        name: String,
        /// What it has come to.
        phase: String,
    },
    /// What somebody asks for cannot be.
    #[error("{0}")]
    Asked(String),
}

impl RollError {
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
            Self::NoRolls => Some("pointsman roll crd | kubectl apply -f -"),
            Self::NoRoll { .. } => Some("pointsman roll list shows those that there are"),
            Self::Call(error) => error.hint(),
            _ => None,
        }
    }
}
