//! Lookups that a runner performs in the cluster.

use crate::definition::checks::ListCheck;
use crate::definition::workflows::{JobSource, StepPlace};
use pointsman_core::apimachinery::ResourceName;
use pointsman_core::definition::admission::{OtherSource, Prerequisites};
use pointsman_core::definition::{Gate, unmet_of};
use serde_json::Value;
use std::fmt;

/// One of the two kinds.
#[derive(Clone, Debug)]
pub(crate) struct PairedKind {
    pub(crate) resource: ResourceName,
    pub(crate) kind: String,
    pub(crate) api_version: String,
}

impl PairedKind {
    /// The version without the group.
    pub(crate) fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(self.api_version.as_str(), |(_, version)| version)
    }
}

/// A fact of one object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FactLookup {
    /// The name of the fact.
    pub name: String,
    /// The Secret, in the namespace of the object. `None` if the object names none: the fact is false.
    pub secret: Option<String>,
    /// The key that the Secret contains if the fact is true.
    pub key: String,
}

/// A request for objects. Pass the objects or the error to [`crate::LookupResults`]: a condition without result is
/// unmet.
#[derive(Clone, Debug)]
pub struct LookupRequest {
    pub(crate) about: LookupPurpose,
    /// The filter for the found objects.
    pub(crate) filter: LookupFilter,
    /// The plural of their resource.
    pub plural: String,
    /// The group of their resource; empty for the core group.
    pub group: String,
    /// Their namespace. `None` for all namespaces, and for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The version to read. `None` for the preferred version of the API server.
    pub version: Option<String>,
    /// Their cluster, if other than that of the rollout.
    pub cluster: Option<OtherCluster>,
    /// The target objects.
    pub wanted: LookupTarget,
}

/// The target objects of a lookup.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LookupTarget {
    /// Objects with these labels, in the syntax of `kubectl -l`; all if empty.
    Labelled(String),
    /// The object of this name.
    Named(String),
    /// Metadata of objects with these labels. Empty if the resource does not exist.
    Metadata(String),
    /// Metadata of objects with an owner reference to this name. Empty if the resource does not exist. Lookups of many
    /// names use one list.
    Owned(String),
    /// Objects of every resource in the namespace with an owner reference to this uid: metadata, and the resource as
    /// `resource`, spelled as in kubectl.
    Referring(String),
    /// The object of the target kind that replaces the object of this name. Pass the result to
    /// [`crate::LookupResults::became`].
    Replaced {
        /// The name.
        name: String,
        /// The uid.
        uid: String,
        /// Facts for the conversion.
        facts: Vec<FactLookup>,
    },
    /// Whether a mutation has processed the object of this name, after its fact. Pass the result to
    /// [`crate::LookupResults::mutated`].
    Mutated {
        /// The name.
        name: String,
        /// The mutation, from a definition for the resource.
        mutation: String,
    },
}

/// The purpose of a lookup, which identifies its result.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum LookupPurpose {
    /// An object on which a step acts, by a unique text.
    OtherObject(String),
    /// A check while objects are moved, by name.
    During(String),
    /// The Job of a step, by namespace and name.
    Job(String),
    /// A prerequisite of a version, by id.
    Need(String),
    /// Versions that other objects contain, by a unique text.
    Observed(String),
    /// A start check, by name.
    Start(String),
    /// The CRD of a storage migration.
    Stored,
    /// The ConfigMap with the manifest of a Job, by namespace and name.
    Template(String),
}

/// The filter of a lookup.
#[derive(Clone, Debug)]
pub(crate) enum LookupFilter {
    /// Objects that fail a check.
    Faults(ListCheck),
    /// Objects that fail this gate.
    Unmet(Gate),
    /// The state of objects.
    State(Prerequisites),
    /// The versions in objects, and their subjects.
    Versions(OtherSource),
    /// The whole object.
    Whole,
    /// All objects, whole.
    All,
}

impl LookupRequest {
    /// For the objects of a check.
    pub(crate) fn of_list(about: LookupPurpose, list: &ListCheck) -> Self {
        let labelled = Self::of_labelled(&list.resource, list.namespace.as_deref(), &list.labels.to_string());
        Self { about, filter: LookupFilter::Faults(list.clone()), ..labelled }
    }

    /// For objects that contain versions of others.
    pub(crate) fn of_versions(source: &OtherSource) -> Self {
        let labelled = Self::of_labelled(&source.resource, source.namespace.as_deref(), &source.labels.to_string());
        Self { about: Self::about_versions(source), filter: LookupFilter::Versions(source.clone()), ..labelled }
    }

    /// The purpose of that lookup.
    pub(crate) fn about_versions(source: &OtherSource) -> LookupPurpose {
        LookupPurpose::Observed(source.id())
    }

    /// For a Job, by namespace and name.
    pub(crate) fn of_job(title: &str) -> Self {
        let (namespace, name) = title.split_once('/').unwrap_or(("", title));
        // The version in which it was created: saves the discovery request.
        let version = Some("v1".to_owned());
        Self { version, ..Self::of_one(Self::about_job(title), ("jobs", "batch"), namespace, name) }
    }

    /// The purpose of that lookup.
    pub(crate) fn about_job(title: &str) -> LookupPurpose {
        LookupPurpose::Job(title.to_owned())
    }

    /// For the ConfigMap with the manifest of a Job.
    pub(crate) fn of_template(namespace: &str, name: &str) -> Self {
        Self::of_one(Self::about_template(&format!("{namespace}/{name}")), ("configmaps", ""), namespace, name)
    }

    /// The same for a Job source. `None` if the manifest is in the definition.
    pub(crate) fn of_template_of(source: &JobSource) -> Option<Self> {
        match source {
            JobSource::Template { namespace, name } => Some(Self::of_template(namespace, name)),
            JobSource::Inline { .. } => None,
        }
    }

    /// The purpose of that lookup.
    pub(crate) fn about_template(title: &str) -> LookupPurpose {
        LookupPurpose::Template(title.to_owned())
    }

    /// For a CRD, by name.
    pub(crate) fn of_crd(name: &str) -> Self {
        let crds = ("customresourcedefinitions", "apiextensions.k8s.io");
        Self { namespace: None, ..Self::of_one(LookupPurpose::Stored, crds, "", name) }
    }

    fn of_one(about: LookupPurpose, (plural, group): (&str, &str), namespace: &str, name: &str) -> Self {
        Self {
            about,
            filter: LookupFilter::Whole,
            plural: plural.to_owned(),
            group: group.to_owned(),
            namespace: Some(namespace.to_owned()),
            version: None,
            cluster: None,
            wanted: LookupTarget::Named(name.to_owned()),
        }
    }

    /// For an object named in a step.
    pub(crate) fn of_object(resource: &ResourceName, namespace: Option<&str>, name: &str) -> Self {
        Self::for_objects(resource, None, namespace, LookupTarget::Named(name.to_owned()), LookupFilter::Whole)
    }

    /// For an object of the source or target kind.
    pub(crate) fn of_paired(kind: &PairedKind, namespace: Option<&str>, name: &str) -> Self {
        let wanted = LookupTarget::Named(name.to_owned());
        Self::for_objects(&kind.resource, Some(kind.version()), namespace, wanted, LookupFilter::Whole)
    }

    /// For all objects of a namespace.
    pub(crate) fn of_all(resource: &ResourceName, namespace: Option<&str>) -> Self {
        Self::of_labelled(resource, namespace, "")
    }

    /// For objects of a namespace with labels.
    pub(crate) fn of_labelled(resource: &ResourceName, namespace: Option<&str>, labels: &str) -> Self {
        Self::for_objects(resource, None, namespace, LookupTarget::Labelled(labels.to_owned()), LookupFilter::All)
    }

    /// For metadata of objects with labels.
    pub(crate) fn of_metadata(resource: &ResourceName, namespace: Option<&str>, labels: &str) -> Self {
        Self::for_objects(resource, None, namespace, LookupTarget::Metadata(labels.to_owned()), LookupFilter::All)
    }

    /// For metadata of objects with an owner of this name.
    pub(crate) fn of_owned(resource: &ResourceName, namespace: Option<&str>, name: &str) -> Self {
        Self::for_objects(resource, None, namespace, LookupTarget::Owned(name.to_owned()), LookupFilter::All)
    }

    /// For all objects with an owner reference to this uid.
    pub(crate) fn of_referring(namespace: Option<&str>, uid: &str) -> Self {
        let any = ResourceName { plural: "*".to_owned(), group: String::new() };
        Self::for_objects(&any, None, namespace, LookupTarget::Referring(uid.to_owned()), LookupFilter::All)
    }

    /// For the replacement of an object.
    pub(crate) fn of_replacement(
        source: &PairedKind,
        namespace: Option<&str>,
        name: &str,
        uid: &str,
        facts: &[FactLookup],
    ) -> Self {
        let wanted = LookupTarget::Replaced { name: name.to_owned(), uid: uid.to_owned(), facts: facts.to_vec() };
        Self::for_objects(&source.resource, Some(source.version()), namespace, wanted, LookupFilter::Whole)
    }

    fn for_objects(
        resource: &ResourceName,
        version: Option<&str>,
        namespace: Option<&str>,
        wanted: LookupTarget,
        filter: LookupFilter,
    ) -> Self {
        let mut lookup = Self {
            about: LookupPurpose::OtherObject(String::new()),
            filter,
            plural: resource.plural.clone(),
            group: resource.group.clone(),
            namespace: namespace.map(str::to_owned),
            version: version.map(str::to_owned),
            cluster: None,
            wanted,
        };
        lookup.about = lookup.unique_purpose();
        lookup
    }

    /// A unique purpose.
    fn unique_purpose(&self) -> LookupPurpose {
        let sort = match &self.wanted {
            LookupTarget::Named(_) => "one",
            LookupTarget::Labelled(_) => "all",
            LookupTarget::Metadata(_) => "metadata",
            LookupTarget::Owned(_) => "owned",
            LookupTarget::Referring(_) => "referring",
            LookupTarget::Replaced { .. } => "becoming",
            LookupTarget::Mutated { .. } => "mutated",
        };
        // The display text omits the key of the Secret and the mutation.
        let key = self.cluster.as_ref().map(|of| &of.key);
        let mutation = match &self.wanted {
            LookupTarget::Mutated { mutation, .. } => Some(mutation),
            _ => None,
        };
        let whole = format!("{sort} {self} {key:?} {mutation:?}");
        match &self.filter {
            LookupFilter::Unmet(gate) => LookupPurpose::OtherObject(format!("{whole} {gate:?}")),
            _ => LookupPurpose::OtherObject(whole),
        }
    }

    /// Moves the lookup to another location.
    fn at(self, place: &ResolvedLocation) -> Self {
        let mut lookup = Self { namespace: place.namespace.clone(), cluster: place.cluster.clone(), ..self };
        lookup.about = lookup.unique_purpose();
        lookup
    }

    /// For an object named in a step, at any location.
    pub(crate) fn of_object_at(resource: &ResourceName, place: &ResolvedLocation, name: &str) -> Self {
        Self::of_object(resource, None, name).at(place)
    }

    /// For all objects at a location.
    pub(crate) fn of_all_at(resource: &ResourceName, place: &ResolvedLocation) -> Self {
        Self::of_all(resource, None).at(place)
    }

    /// For all objects at a location, each of which must pass a gate.
    pub(crate) fn of_every(resource: &ResourceName, place: &ResolvedLocation, gate: &Gate) -> Self {
        let wanted = LookupTarget::Labelled(String::new());
        Self::for_objects(resource, None, None, wanted, LookupFilter::Unmet(gate.clone())).at(place)
    }

    /// For an object that a mutation must process.
    pub(crate) fn of_mutated(resource: &ResourceName, place: &ResolvedLocation, name: &str, mutation: &str) -> Self {
        let wanted = LookupTarget::Mutated { name: name.to_owned(), mutation: mutation.to_owned() };
        Self::for_objects(resource, None, None, wanted, LookupFilter::Whole).at(place)
    }

    /// The key of the result: equal for equal lookups.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{:?}", self.about)
    }

    /// True if both lookups are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.about == other.about
    }

    /// For a prerequisite of a version, by id.
    pub(crate) fn of_need(id: &str, place: &Prerequisites) -> Self {
        Self {
            about: LookupPurpose::Need(id.to_owned()),
            plural: place.resource.plural.clone(),
            group: place.resource.group.clone(),
            namespace: place.namespace.clone(),
            wanted: LookupTarget::Named(place.name_of(id)),
            filter: LookupFilter::State(place.clone()),
            version: None,
            cluster: None,
        }
    }
}

/// The target for messages: `deployments.apps namespace/name`.
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
            LookupTarget::Referring(uid) => write!(f, "dependents of uid {uid}{within}"),
        }?;
        self.cluster.as_ref().map_or(Ok(()), |cluster| write!(f, " in {cluster}"))
    }
}

impl LookupFilter {
    /// The unmet condition of an object, as a message.
    pub(crate) fn unmet(&self, object: &Value) -> Option<String> {
        match self {
            Self::Faults(list) => list.unmet(object),
            Self::Unmet(gate) => unmet_of(gate, object),
            Self::State(_) | Self::Versions(_) | Self::Whole | Self::All => None,
        }
    }
}

/// The object for messages: `namespace/name`.
pub(crate) fn title(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let name = text("/metadata/name").unwrap_or("an object without a name");
    match text("/metadata/namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// A location of objects.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ResolvedLocation {
    pub(crate) cluster: Option<OtherCluster>,
    /// `None` for cluster-scoped objects, and for all namespaces.
    pub(crate) namespace: Option<String>,
}

impl ResolvedLocation {
    /// Resolves the location of a step with expanded placeholders.
    pub(crate) fn of(place: &StepPlace, fill: &dyn Fn(&str) -> String) -> Self {
        Self {
            namespace: place.namespace.as_deref().map(fill),
            cluster: place.cluster.as_ref().map(|cluster| OtherCluster {
                namespace: fill(&cluster.namespace),
                secret: fill(&cluster.name),
                key: cluster.key.clone(),
            }),
        }
    }
}

/// Another cluster, by the Secret with its kubeconfig in the cluster of the rollout.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct OtherCluster {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Name of the Secret.
    pub secret: String,
    /// Key in its data.
    pub key: String,
}

/// For messages: `the cluster of secret namespace/name`.
impl fmt::Display for OtherCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the cluster of secret {}/{}", self.namespace, self.secret)
    }
}
