//! The schemas that workflows are checked against.

use pointsman_core::definition::Schema;

/// The schemas of the objects of a workflow.
#[derive(Clone, Copy)]
pub(in crate::definition) struct WorkflowSchemas<'s> {
    /// The schema of the object of the rollout.
    pub(in crate::definition) own: &'s Schema,
    /// The schema of its replacement.
    pub(in crate::definition) target: &'s Schema,
}
