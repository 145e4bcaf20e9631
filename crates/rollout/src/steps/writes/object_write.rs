//! A write of an object other than the rollout's object.

use serde_json::{Value, json};

use crate::lookup::request::OtherCluster;
use crate::observe::observed_field::{pointer, test};
use crate::observe::rollout_annotation::keeps_not;
use crate::steps::objects::observed_object::{KNOWN_BY, STAYS, annotation, is_terminating, text};

/// One call of the API server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ObjectWrite {
    /// The plural of the resource.
    pub plural: String,
    /// The group; empty for the core group.
    pub group: String,
    /// The version of the group, if fixed.
    pub version: Option<String>,
    /// The cluster, if other than that of the rollout.
    pub cluster: Option<OtherCluster>,
    /// The namespace, if namespaced.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The call.
    pub call: ObjectCall,
    /// The title of the rollout's object.
    pub of: String,
    /// The uid of the rollout's object.
    pub uid: String,
}

/// The operation on an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ObjectCall {
    /// Creates the object. An existing one is foreign: it must be read again.
    Create(Value),
    /// Creates the object in place of one deleted for it: independent of other writes and their errors. An existing one
    /// must be read again.
    Succeed(Value),
    /// A JSON Patch (RFC 6902) with preconditions on the observed state.
    Patch(Value),
    /// A merge patch of the status, which informs the owner. The rollout continues if it fails.
    ReportRefusal(Value),
    /// An empty patch, so that the mutation of this name processes the object.
    Readmit(String),
    /// Deletes the object if it is unchanged.
    Delete {
        /// Its uid.
        uid: String,
        /// Its resourceVersion.
        resource_version: String,
        /// The treatment of its dependents.
        propagation: Propagation,
        /// The object that takes its place, which is checked first.
        replacement: Option<Box<Replacement>>,
    },
}

/// The object that takes the place of a deleted one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Replacement {
    /// Created next, under the name of the old one.
    Successor(ReplacementObject),
    /// Exists already.
    Counterpart(PreconditionObject),
}

/// An object that must exist when another is deleted for it. API preconditions cannot refer to a second object. The
/// runner therefore reads or writes this one right before, and skips the deletion if it is missing, terminating or not
/// annotated.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PreconditionObject {
    /// The plural of the resource.
    pub plural: String,
    /// The group.
    pub group: String,
    /// The version to read.
    pub version: String,
    /// The name, in the namespace of the deleted object.
    pub name: String,
    /// The uid.
    pub uid: String,
    /// The annotation that identifies the deleted object, and its value.
    pub annotation: Option<(String, String)>,
}

impl PreconditionObject {
    /// The patch that records the source's resourceVersion on a replacement before the deletion. It invalidates
    /// outstanding deletions of the replacement. Without it, a deletion from a runner that was suspended and replaced
    /// could arrive later, and both objects would be lost.
    ///
    /// `None` without annotation: then the object is the rollout's own, whose annotation each revert step writes.
    /// `None` if the value is already stored: no revert has started since.
    #[must_use]
    pub fn stays(&self, found: Option<&Value>, resource_version: &str) -> Option<Value> {
        let (name, value) = self.annotation.as_ref()?;
        if found.and_then(|found| annotation(found, STAYS)) == Some(resource_version) {
            return None;
        }
        Some(Value::Array(vec![
            test("/metadata/uid", json!(self.uid)),
            test(&pointer("annotations", name), json!(value)),
            json!({"op": "add", "path": pointer("annotations", STAYS), "value": resource_version}),
        ]))
    }

    /// The reason to skip the deletion, given the API server's response to [`stays`](Self::stays): the written
    /// annotation is removed, so an outstanding deletion would find the replacement unchanged.
    #[must_use]
    pub fn unwritten(written: &Value, resource_version: &str) -> Option<String> {
        let is_there = annotation(written, STAYS) == Some(resource_version);
        (!is_there).then(|| keeps_not(STAYS))
    }

    /// The reason to skip the deletion, given the metadata found under its name. `None` if the object is unchanged.
    #[must_use]
    pub fn missing(&self, found: Option<&Value>) -> Option<String> {
        let Some(found) = found.filter(|found| text(found, "/metadata/uid") == self.uid) else {
            return Some("no longer exists".to_owned());
        };
        if is_terminating(found) {
            return Some("is being deleted".to_owned());
        }
        let (name, value) = self.annotation.as_ref()?;
        let matches = annotation(found, name) == Some(value);
        (!matches).then(|| format!("has lost {name}: {value}; set the value again"))
    }
}

/// An object that is created in place of a deleted one. Two checks precede the deletion: a dry run of the creation, and
/// whether dependents of the old object remain
/// ([`not_left_behind`](crate::steps::objects::observed_object::not_left_behind)).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReplacementObject {
    /// The object.
    pub object: Value,
    /// Plural and group of dependents of the deleted object.
    pub owned: (String, String),
    /// The labels that select them, in the syntax of `kubectl -l`.
    pub labels: String,
}

impl ObjectCall {
    /// The message about a created object that is stored without its identifying annotations. `None` if they are
    /// stored, or if an object was deleted for it: then it must exist in any case.
    #[must_use]
    pub fn unkept(&self, written: &Value) -> Option<String> {
        let Self::Create(sent) = self else { return None };
        let is_lost = |name: &&str| annotation(sent, name).is_some_and(|sent| annotation(written, name) != Some(sent));
        KNOWN_BY.into_iter().find(is_lost).map(keeps_not)
    }

    /// The HTTP method.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create(_) | Self::Succeed(_) => "POST",
            Self::Patch(_) | Self::ReportRefusal(_) | Self::Readmit(_) => "PATCH",
            Self::Delete { .. } => "DELETE",
        }
    }

    /// True if it creates an object.
    #[must_use]
    pub fn makes(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Succeed(_))
    }
}

/// The treatment of dependents of a deleted object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Propagation {
    /// They remain without owner.
    Orphan,
    /// They are deleted too.
    Background,
}

impl Propagation {
    /// The API value. Source: `apimachinery pkg/apis/meta/v1/types.go`, `DeletionPropagation`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Orphan => "Orphan",
            Self::Background => "Background",
        }
    }
}

impl ObjectWrite {
    /// True if it closes a gap: another object was deleted for the created one.
    #[must_use]
    pub fn closes_gap(&self) -> bool {
        matches!(self.call, ObjectCall::Succeed(_))
    }

    /// True if it opens a gap: the successor is created only after the deletion.
    #[must_use]
    pub fn opens_gap(&self) -> bool {
        let ObjectCall::Delete { replacement: Some(replacement), .. } = &self.call else { return false };
        matches!(**replacement, Replacement::Successor(_))
    }

    /// A message: `deleted deployments.apps namespace/name`.
    #[must_use]
    pub fn message(&self) -> String {
        let done = match &self.call {
            ObjectCall::Create(_) | ObjectCall::Succeed(_) => "created",
            ObjectCall::Patch(_) | ObjectCall::ReportRefusal(_) => "changed",
            ObjectCall::Readmit(_) => "sent once more",
            ObjectCall::Delete { propagation: Propagation::Orphan, .. } => "deleted without its dependents,",
            ObjectCall::Delete { .. } => "deleted",
        };
        format!("{done} {}", self.title())
    }

    /// The title: `deployments.apps namespace/name`.
    #[must_use]
    pub fn title(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        let place = self.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
        let within = self.cluster.as_ref().map_or_else(String::new, |cluster| format!(" in {cluster}"));
        format!("{}{dot}{} {place}{}{within}", self.plural, self.group, self.name)
    }
}
