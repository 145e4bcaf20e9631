//! Whether a stage has seen an object, after its fact.

/// What was found of an object that a stage has to have seen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MutationState {
    /// It is not there.
    Absent,
    /// It is being deleted, and no stage looks at it any more.
    Going,
    /// It is what the stage makes of it.
    Seen,
    /// It is not, and where.
    Unseen(String),
    /// Nobody knows, and why.
    Unknown(String),
}
