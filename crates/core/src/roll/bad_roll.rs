//! What is wrong with a Roll.

use crate::definition::Problem;

/// A Roll that was refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
#[non_exhaustive]
pub struct BadRoll {
    /// All that is wrong with it, in the order of the lines.
    pub problems: Vec<Problem>,
}
