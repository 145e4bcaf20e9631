//! What is wrong with a StagedRollout.

use crate::definition::Problem;

/// A StagedRollout that was refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
#[non_exhaustive]
pub struct BadRollout {
    /// All that is wrong with it, in the order of the lines.
    pub problems: Vec<Problem>,
}
