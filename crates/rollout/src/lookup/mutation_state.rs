//! Whether a mutation has processed an object, after its fact.

/// State of an object that a mutation must process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MutationState {
    /// The object does not exist.
    Absent,
    /// The object is terminating, and mutations skip it.
    Terminating,
    /// The object equals the result of the mutation.
    Seen,
    /// The object differs, at this path.
    Unseen(String),
    /// Unknown, with the reason.
    Unknown(String),
}
