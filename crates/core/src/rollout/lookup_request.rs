//! What whoever runs a rollout has to look up in the cluster.

use std::fmt;

use serde_json::Value;

use super::kinds::{PairedKind, FactLookup};
use super::other_cluster::OtherCluster;
use super::place::ResolvedLocation;
use crate::apimachinery::ResourceName;
use crate::definition::admission::{OtherSource, Prerequisites};
use crate::definition::{Gate, JobSource, ListCheck, unmet_of};

/// Objects to look up. What is found has to be told to [`super::RolloutAnswers`], and so has what cannot be read: what
/// nobody answers does not hold.
#[derive(Clone, Debug)]
pub struct LookupRequest {
    pub(super) about: LookupPurpose,
    /// How what is found is judged.
    pub(super) looked_for: LookupFilter,
    /// Their plural.
    pub plural: String,
    /// Their group; empty for the first resources of Kubernetes.
    pub group: String,
    /// Their namespace; without one those of all, or of none.
    pub namespace: Option<String>,
    /// The version in which they are read; the one that the API server prefers, where it is none.
    pub version: Option<String>,
    /// The cluster that they are in, where it is another one than that of the rollout.
    pub cluster: Option<OtherCluster>,
    /// Which of them.
    pub wanted: LookupTarget,
}

/// Which objects are looked up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LookupTarget {
    /// Those with such labels, as `kubectl -l` takes them; all where it is empty.
    Labelled(String),
    /// The one of this name.
    Named(String),
    /// Those with such labels, and of each nothing but its metadata. Of a resource that there is not, there are none.
    Metadata(String),
    /// Those with an owner reference to something of this name, and of each nothing but its metadata. Of a resource
    /// that there is not, there are none. What is asked of many names is one list.
    Owned(String),
    /// Objects of every resource in the namespace that have an owner reference to this uid: of each its metadata, and
    /// as `resource` what kubectl calls its resource.
    Referring(String),
    /// What the one of this name becomes, as an object of the other kind: told to [`super::RolloutAnswers::became`].
    Becoming {
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
        /// What has to be known beside it.
        facts: Vec<FactLookup>,
    },
    /// Whether a stage has seen the one of this name, after its fact: told to [`super::RolloutAnswers::mutated`].
    Staged {
        /// Its name.
        name: String,
        /// The stage, of a definition of stages of its resource.
        mutation: String,
    },
}

/// What an answer is for.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum LookupPurpose {
    /// What a step does something to, in words that nothing else is called by.
    Beside(String),
    /// A check while objects are moved, by its name.
    During(String),
    /// The Job of a step, by namespace and name.
    Job(String),
    /// What a version needs, by its id.
    Need(String),
    /// The versions of objects that others say, in words that nothing else is called by.
    Observed(String),
    /// A check before it begins, by its name.
    Start(String),
    /// The CRD by which objects are stored.
    Stored,
    /// The ConfigMap that holds the manifest of a Job, by namespace and name.
    Template(String),
}

/// What is looked for in objects that are found.
#[derive(Clone, Debug)]
pub(super) enum LookupFilter {
    /// What is not as it should be.
    Faults(ListCheck),
    /// Of what this does not hold.
    Unmet(Gate),
    /// What they say of their state.
    State(Prerequisites),
    /// Which versions they say, of which objects.
    Versions(OtherSource),
    /// All that it says.
    Whole,
    /// All that all of them say.
    All,
}

impl LookupRequest {
    /// About objects of a check.
    pub(super) fn of_list(about: LookupPurpose, list: &ListCheck) -> Self {
        let labelled = Self::of_labelled(&list.resource, list.namespace.as_deref(), &list.labels.to_string());
        Self { about, looked_for: LookupFilter::Faults(list.clone()), ..labelled }
    }

    /// About objects that say versions of others.
    pub(super) fn of_versions(source: &OtherSource) -> Self {
        let labelled = Self::of_labelled(&source.resource, source.namespace.as_deref(), &source.labels.to_string());
        Self { about: Self::about_versions(source), looked_for: LookupFilter::Versions(source.clone()), ..labelled }
    }

    /// What the answer is for that says these versions.
    pub(super) fn about_versions(source: &OtherSource) -> LookupPurpose {
        LookupPurpose::Observed(source.id())
    }

    /// About a Job, by namespace and name.
    pub(super) fn of_job(title: &str) -> Self {
        let (namespace, name) = title.split_once('/').unwrap_or(("", title));
        // The version in which it was made: nobody has to be asked for it.
        let version = Some("v1".to_owned());
        Self { version, ..Self::of_one(Self::about_job(title), ("jobs", "batch"), namespace, name) }
    }

    /// What the answer is for that says how a Job stands.
    pub(super) fn about_job(title: &str) -> LookupPurpose {
        LookupPurpose::Job(title.to_owned())
    }

    /// About the ConfigMap that holds the manifest of a Job.
    pub(super) fn of_template(namespace: &str, name: &str) -> Self {
        Self::of_one(Self::about_template(&format!("{namespace}/{name}")), ("configmaps", ""), namespace, name)
    }

    /// The same of where a manifest is; nothing where it is in the definition.
    pub(super) fn of_template_of(source: &JobSource) -> Option<Self> {
        match source {
            JobSource::Template { namespace, name } => Some(Self::of_template(namespace, name)),
            JobSource::Inline { .. } => None,
        }
    }

    /// What the answer is for that holds such a manifest.
    pub(super) fn about_template(title: &str) -> LookupPurpose {
        LookupPurpose::Template(title.to_owned())
    }

    /// About a CRD, by its name.
    pub(super) fn of_crd(name: &str) -> Self {
        let crds = ("customresourcedefinitions", "apiextensions.k8s.io");
        Self { namespace: None, ..Self::of_one(LookupPurpose::Stored, crds, "", name) }
    }

    fn of_one(about: LookupPurpose, (plural, group): (&str, &str), namespace: &str, name: &str) -> Self {
        Self {
            about,
            looked_for: LookupFilter::Whole,
            plural: plural.to_owned(),
            group: group.to_owned(),
            namespace: Some(namespace.to_owned()),
            version: None,
            cluster: None,
            wanted: LookupTarget::Named(name.to_owned()),
        }
    }

    /// About an object that a step names.
    pub(super) fn of_object(resource: &ResourceName, namespace: Option<&str>, name: &str) -> Self {
        Self::beside(resource, None, namespace, LookupTarget::Named(name.to_owned()), LookupFilter::Whole)
    }

    /// About an object of one of two kinds, of which one becomes the other.
    pub(super) fn of_paired(kind: &PairedKind, namespace: Option<&str>, name: &str) -> Self {
        let wanted = LookupTarget::Named(name.to_owned());
        Self::beside(&kind.resource, Some(kind.version()), namespace, wanted, LookupFilter::Whole)
    }

    /// About all objects of a namespace.
    pub(super) fn of_all(resource: &ResourceName, namespace: Option<&str>) -> Self {
        Self::of_labelled(resource, namespace, "")
    }

    /// About objects of a namespace with such labels.
    pub(super) fn of_labelled(resource: &ResourceName, namespace: Option<&str>, labels: &str) -> Self {
        Self::beside(resource, None, namespace, LookupTarget::Labelled(labels.to_owned()), LookupFilter::All)
    }

    /// About the metadata of objects with such labels.
    pub(super) fn of_metadata(resource: &ResourceName, namespace: Option<&str>, labels: &str) -> Self {
        Self::beside(resource, None, namespace, LookupTarget::Metadata(labels.to_owned()), LookupFilter::All)
    }

    /// About the metadata of what belongs to something of a name.
    pub(super) fn of_owned(resource: &ResourceName, namespace: Option<&str>, name: &str) -> Self {
        Self::beside(resource, None, namespace, LookupTarget::Owned(name.to_owned()), LookupFilter::All)
    }

    /// About everything that belongs to an object.
    pub(super) fn of_referring(namespace: Option<&str>, uid: &str) -> Self {
        let any = ResourceName { plural: "*".to_owned(), group: String::new() };
        Self::beside(&any, None, namespace, LookupTarget::Referring(uid.to_owned()), LookupFilter::All)
    }

    /// About what an object becomes.
    pub(super) fn of_becoming(
        source: &PairedKind,
        namespace: Option<&str>,
        name: &str,
        uid: &str,
        facts: &[FactLookup],
    ) -> Self {
        let wanted = LookupTarget::Replaced { name: name.to_owned(), uid: uid.to_owned(), facts: facts.to_vec() };
        Self::beside(&source.resource, Some(source.version()), namespace, wanted, LookupFilter::Whole)
    }

    fn beside(
        resource: &ResourceName,
        version: Option<&str>,
        namespace: Option<&str>,
        wanted: LookupTarget,
        looked_for: LookupFilter,
    ) -> Self {
        let mut question = Self {
            about: LookupPurpose::Beside(String::new()),
            looked_for,
            plural: resource.plural.clone(),
            group: resource.group.clone(),
            namespace: namespace.map(str::to_owned),
            version: version.map(str::to_owned),
            cluster: None,
            wanted,
        };
        question.about = question.about_beside();
        question
    }

    /// What nothing else is called by.
    fn about_beside(&self) -> LookupPurpose {
        let sort = match &self.wanted {
            LookupTarget::Named(_) => "one",
            LookupTarget::Labelled(_) => "all",
            LookupTarget::Metadata(_) => "metadata",
            LookupTarget::Owned(_) => "owned",
            LookupTarget::Referring(_) => "referring",
            LookupTarget::Replaced { .. } => "becoming",
            LookupTarget::Mutated { .. } => "mutated",
        };
        // What it is called does not say which key of a Secret leads there, nor which stage is meant.
        let key = self.cluster.as_ref().map(|of| &of.key);
        let mutation = match &self.wanted {
            LookupTarget::Mutated { mutation, .. } => Some(mutation),
            _ => None,
        };
        let whole = format!("{sort} {self} {key:?} {mutation:?}");
        match &self.looked_for {
            LookupFilter::Unmet(gate) => LookupPurpose::Beside(format!("{whole} {gate:?}")),
            _ => LookupPurpose::Beside(whole),
        }
    }

    /// About objects that are somewhere else than the object of the rollout.
    fn at(self, place: &ResolvedLocation) -> Self {
        let mut question = Self { namespace: place.namespace.clone(), cluster: place.cluster.clone(), ..self };
        question.about = question.about_beside();
        question
    }

    /// About an object that a step names, wherever that is.
    pub(super) fn of_object_at(resource: &ResourceName, place: &ResolvedLocation, name: &str) -> Self {
        Self::of_object(resource, None, name).at(place)
    }

    /// About all objects of a place.
    pub(super) fn of_all_at(resource: &ResourceName, place: &ResolvedLocation) -> Self {
        Self::of_all(resource, None).at(place)
    }

    /// About all objects of a place, of each of which a gate has to hold.
    pub(super) fn of_every(resource: &ResourceName, place: &ResolvedLocation, gate: &Gate) -> Self {
        let wanted = LookupTarget::Labelled(String::new());
        Self::beside(resource, None, None, wanted, LookupFilter::Unmet(gate.clone())).at(place)
    }

    /// About an object that a stage has to have seen.
    pub(super) fn of_mutated(resource: &ResourceName, place: &ResolvedLocation, name: &str, mutation: &str) -> Self {
        let wanted = LookupTarget::Mutated { name: name.to_owned(), mutation: mutation.to_owned() };
        Self::beside(resource, None, None, wanted, LookupFilter::Whole).at(place)
    }

    /// What an answer is kept by: two questions of one are the same.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{:?}", self.about)
    }

    /// Whether another question asks for the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.about == other.about
    }

    /// About what a version needs, by its id.
    pub(super) fn of_need(id: &str, place: &Prerequisites) -> Self {
        Self {
            about: LookupPurpose::Need(id.to_owned()),
            plural: place.resource.plural.clone(),
            group: place.resource.group.clone(),
            namespace: place.namespace.clone(),
            wanted: LookupTarget::Named(place.name_of(id)),
            looked_for: LookupFilter::State(place.clone()),
            version: None,
            cluster: None,
        }
    }
}

/// As people call what is asked for: `deployments.apps namespace/name`.
impl fmt::Display for LookupRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = ResourceName { plural: self.plural.clone(), group: self.group.clone() };
        let place = self.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let within = self.namespace.as_ref().map(|namespace| format!(" of {namespace}")).unwrap_or_default();
        match &self.wanted {
            LookupTarget::Named(name) | LookupTarget::Replaced { name, .. } | LookupTarget::Mutated { name, .. } => {
                write!(f, "{resource} {place}{name}")
            }
            LookupTarget::Labelled(labels) | LookupTarget::Metadata(labels) if labels.is_empty() => {
                write!(f, "{resource}{within}")
            }
            LookupTarget::Labelled(labels) | LookupTarget::Metadata(labels) => {
                write!(f, "{resource}{within} with {labels}")
            }
            LookupTarget::Owned(name) => write!(f, "{resource}{within} that belong to {name}"),
            LookupTarget::Referring(uid) => write!(f, "what belongs to uid {uid}{within}"),
        }?;
        self.cluster.as_ref().map_or(Ok(()), |cluster| write!(f, " in {cluster}"))
    }
}

impl LookupFilter {
    /// What is not as it should be of an object, in words.
    pub(super) fn unmet(&self, object: &Value) -> Option<String> {
        match self {
            Self::Faults(list) => list.unmet(object),
            Self::Unmet(gate) => unmet_of(gate, object),
            Self::State(_) | Self::Versions(_) | Self::Whole | Self::All => None,
        }
    }
}

/// What people call an object: `namespace/name`.
pub(super) fn title(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let name = text("/metadata/name").unwrap_or("an object without a name");
    match text("/metadata/namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}
