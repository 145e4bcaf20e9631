//! Problems of a StagedRollout.

use pointsman_core::definition::Problem;

/// A StagedRollout that is invalid.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
#[non_exhaustive]
pub struct BadRollout {
    /// All problems, in line order.
    pub problems: Vec<Problem>,
}
