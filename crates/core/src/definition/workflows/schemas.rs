//! The schemas that workflows are checked against.

use crate::definition::schema::Schema;

/// The schemas of the objects that a workflow is about.
#[derive(Clone, Copy)]
pub(in crate::definition) struct WorkflowSchemas<'s> {
    /// Of the object that the rollout is about.
    pub(in crate::definition) own: &'s Schema,
    /// Of the kind that it becomes.
    pub(in crate::definition) target: &'s Schema,
}
