//! What objects that steps have made say of it.

use crate::definition::MOVED;

/// An annotation of an object of another kind: the uid of the one that it was made of.
pub(in crate::rollout) const BECAME: &str = "pointsman.dev/created-from";

/// An annotation of the same object: `metadata.generation` that the one had which it was made of. Whoever changes that
/// one later has not changed this one.
pub(super) const GENERATION: &str = "pointsman.dev/created-from-generation";

/// An annotation of the same object: `metadata.generation` that it had itself when the one before was made anew of it.
/// Whoever changes it later has not changed that one.
pub(super) const RETURNED: &str = "pointsman.dev/returned-generation";

/// `metadata.generation` of an object that was made just now.
/// Source: `k8s.io/apiextensions-apiserver pkg/registry/customresource/strategy.go`, `PrepareForCreate`.
pub(super) const FIRST_GENERATION: &str = "1";

/// An annotation of the same object: by which rollout it was made, and what of the one before is to be undone when that
/// is made anew.
pub(in crate::rollout) const MADE_BY: &str = "pointsman.dev/created-by";

/// An annotation of the same object: which labels and annotations it was made with, and the hash of each.
pub(super) const SHARED: &str = "pointsman.dev/copied-metadata";

/// An annotation of the same object: `metadata.resourceVersion` of the one that it was made of, as that was deleted.
/// What it says is for nobody: it was written, so that what was to be done to it before is not done any more.
pub(super) const STAYS: &str = "pointsman.dev/source-resource-version";

/// All annotations of such an object.
pub(in crate::rollout) const ON_WHAT_WAS_MADE: [&str; 6] = [BECAME, GENERATION, RETURNED, MADE_BY, SHARED, STAYS];

/// What an object that is made is known by, as far as it has it. Others say nothing of a rollout, and may be changed by
/// whoever admits it.
pub(super) const KNOWN_BY: [&str; 5] = [BECAME, GENERATION, MADE_BY, SHARED, MOVED];

/// A label of what is saved of an object before it is made anew: the uid of the object that a rollout is about.
pub(super) const WORKFLOW_LABEL: &str = "pointsman.dev/workflow";

/// An annotation of a Deployment that was made anew: the uid of the one before.
pub(super) const RECREATED: &str = "pointsman.dev/recreated-from";

/// An annotation of one that was put back: the uid of the first one. It goes when all is as before.
pub(super) const RESTORED: &str = "pointsman.dev/restored-from";
