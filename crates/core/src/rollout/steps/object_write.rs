//! A write of another object than the one that a rollout is about.

use serde_json::{Value, json};

use super::annotations::{KNOWN_BY, STAYS};
use super::observed_object::{annotation, is_going, text};
use crate::rollout::json_patch::{pointer, test};
use crate::rollout::rollout_annotation::keeps_not;
use crate::rollout::other_cluster::OtherCluster;

/// One call of the API server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ObjectWrite {
    /// The plural of its resource.
    pub plural: String,
    /// Its group; empty for the first resources of Kubernetes.
    pub group: String,
    /// The version of the group, where it has to be this one.
    pub version: Option<String>,
    /// The cluster that it is in, where it is another one than that of the rollout.
    pub cluster: Option<OtherCluster>,
    /// Its namespace, where it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// What is done.
    pub call: ObjectCall,
    /// What people call the object of the rollout that it is done for.
    pub of: String,
    /// The uid of that.
    pub uid: String,
}

/// What is done to an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ObjectCall {
    /// It is made. One that is there already is none of ours: it has to be looked at again.
    Create(Value),
    /// It is made in the place of one that was deleted for it, which nothing else has to wait for, and nothing that
    /// fails holds up. One that is there already has to be looked at again.
    Succeed(Value),
    /// A JSON Patch (RFC 6902), whose tests name what was seen.
    Patch(Value),
    /// A merge patch of its status, by which its owner is told something. Who may not write it, or does not, goes on.
    Tell(Value),
    /// It is written once more, with nothing, so that the stage of this name sees it: an empty patch.
    Readmit(String),
    /// It goes, if it still is what was seen.
    Delete {
        /// Its uid.
        uid: String,
        /// Its resourceVersion.
        resource_version: String,
        /// What becomes of what it owns.
        propagation: Propagation,
        /// What it goes for, which is asked about before.
        replacement: Option<Box<Replacement>>,
    },
}

/// What stands in the place of an object that is deleted for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Replacement {
    /// It is made next, by the name of the old one.
    Successor(ReplacementObject),
    /// It is there already.
    Counterpart(PreconditionObject),
}

/// An object that has to be there still as another one is deleted for it. No precondition of an API server names a
/// second object: this one is written, or read, right before, and nothing is deleted where it is gone, or about to go,
/// or no longer says what it stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PreconditionObject {
    /// The plural of its resource.
    pub plural: String,
    /// Its group.
    pub group: String,
    /// The version in which it is read.
    pub version: String,
    /// Its name, in the namespace of the one that goes.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// An annotation by which it is known to stand for the one that goes, and what that says.
    pub annotation: Option<(String, String)>,
}

impl PreconditionObject {
    /// The patch by which it says for which state of the other one it stays, where it is one that says so. Behind it no
    /// deletion of this object finds what it is to find that somebody has asked for before. One on its way, of a runner
    /// that was frozen and is the last no more, would come after all, and nothing would be left of either.
    ///
    /// One without an annotation is the object of the rollout itself, in which each step on the way back is noted: so
    /// one that says so already has heard of no way back since, and needs no other write.
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

    /// Why nothing is deleted for it, by what an API server answers to [`stays`](Self::stays): somebody takes off what
    /// was written, and a deletion that is on its way would find it as it was.
    #[must_use]
    pub fn unwritten(written: &Value, resource_version: &str) -> Option<String> {
        let is_there = annotation(written, STAYS) == Some(resource_version);
        (!is_there).then(|| keeps_not(STAYS))
    }

    /// Why nothing is deleted for it, by what is found by its name, as far as its metadata. Nothing where it is there
    /// still.
    #[must_use]
    pub fn missing(&self, found: Option<&Value>) -> Option<String> {
        let Some(found) = found.filter(|found| text(found, "/metadata/uid") == self.uid) else {
            return Some("is not there any more".to_owned());
        };
        if is_going(found) {
            return Some("is being deleted".to_owned());
        }
        let (name, value) = self.annotation.as_ref()?;
        let says = annotation(found, name) == Some(value);
        (!says).then(|| format!("does not say any more {name}: {value}, which has to be set again"))
    }
}

/// What is made in the place of an object that is deleted for it. Two things have to be asked before anything is
/// deleted: by a dry run, whether it would be let through; and of what belongs to the old one, whether that stays
/// ([`not_left_behind`](super::settlement::not_left_behind)).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReplacementObject {
    /// The object.
    pub object: Value,
    /// The plural and the group of what belongs to the one that goes.
    pub owned: (String, String),
    /// The labels by which that is found, as `kubectl -l` takes them.
    pub labels: String,
}

impl ObjectCall {
    /// That an object that is made is not stored with what it is known by, by what an API server answers. Nothing where
    /// it is, or where something was deleted for it: then it has to be there, whatever it says.
    #[must_use]
    pub fn unkept(&self, written: &Value) -> Option<String> {
        let Self::Create(sent) = self else { return None };
        let is_lost = |name: &&str| annotation(sent, name).is_some_and(|sent| annotation(written, name) != Some(sent));
        KNOWN_BY.into_iter().find(is_lost).map(keeps_not)
    }

    /// The method of its call.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create(_) | Self::Succeed(_) => "POST",
            Self::Patch(_) | Self::Tell(_) | Self::Readmit(_) => "PATCH",
            Self::Delete { .. } => "DELETE",
        }
    }

    /// Whether it makes an object.
    #[must_use]
    pub fn makes(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Succeed(_))
    }
}

/// What becomes of what a deleted object owns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Propagation {
    /// It stays, and belongs to nobody.
    Orphan,
    /// It goes as well.
    Background,
}

impl Propagation {
    /// As an API server is told. Source: `apimachinery pkg/apis/meta/v1/types.go`, `DeletionPropagation`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Orphan => "Orphan",
            Self::Background => "Background",
        }
    }
}

impl ObjectWrite {
    /// Whether it closes a gap: something was deleted for what it makes, and is not there until then.
    #[must_use]
    pub fn closes_gap(&self) -> bool {
        matches!(self.call, ObjectCall::Succeed(_))
    }

    /// Whether it opens one: something else is to stand in its place, which is not there yet.
    #[must_use]
    pub fn opens_gap(&self) -> bool {
        let ObjectCall::Delete { replacement: Some(replacement), .. } = &self.call else { return false };
        matches!(**replacement, Replacement::Successor(_))
    }

    /// What is done, in words: `deleted deployments.apps namespace/name`.
    #[must_use]
    pub fn told(&self) -> String {
        let done = match &self.call {
            ObjectCall::Create(_) | ObjectCall::Succeed(_) => "created",
            ObjectCall::Patch(_) | ObjectCall::Tell(_) => "changed",
            ObjectCall::Readmit(_) => "sent once more",
            ObjectCall::Delete { propagation: Propagation::Orphan, .. } => "deleted, and what belongs to it left,",
            ObjectCall::Delete { .. } => "deleted",
        };
        format!("{done} {}", self.title())
    }

    /// What people call it: `deployments.apps namespace/name`.
    #[must_use]
    pub fn title(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        let place = self.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
        let within = self.cluster.as_ref().map_or_else(String::new, |cluster| format!(" in {cluster}"));
        format!("{}{dot}{} {place}{}{within}", self.plural, self.group, self.name)
    }
}
