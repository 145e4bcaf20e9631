//! Versions of an object that are read from other objects, such as the Pods of a host, or its Node.

use serde_json::Value;

use super::observe::VersionSource;
use super::others_spec::OthersSpec;
use crate::apimachinery::{ResourceName, Selector, is_dns_label};
use crate::definition::path::Path;

/// Compiled: other objects that contain a version.
#[derive(Clone, Debug)]
pub struct OtherSource {
    /// The resource of the objects.
    pub resource: ResourceName,
    /// Their namespace. `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The labels of the objects.
    pub labels: Selector,
    by: Path,
    /// Group and kind of the objects that they refer to.
    of: (String, String),
    item: Option<(Path, String)>,
    /// The place of the version in each object, or in the item.
    version: VersionSource,
    /// If no other object refers to an object, the part does not run there.
    optional: bool,
}

impl OtherSource {
    /// Compiles the source. `version` is the place of the version in the other objects, `of` is group and kind of the
    /// objects that they refer to.
    pub(super) fn compile(
        spec: &OthersSpec,
        of: (&str, &str),
        version: VersionSource,
        optional: bool,
    ) -> Result<Self, String> {
        let OthersSpec { list, namespace, labels, by, item } = spec;
        if let Some(namespace) = namespace.as_ref().filter(|name| !is_dns_label(name)) {
            return Err(format!("from: {namespace:?} is no name of a namespace"));
        }
        let in_from = |error: String| format!("from: {error}");
        let path = |text: &str| Path::parse(text).map_err(in_from);
        Ok(Self {
            resource: ResourceName::parse(list).map_err(in_from)?,
            namespace: namespace.clone(),
            labels: Selector::parse(labels.as_deref().unwrap_or_default()).map_err(in_from)?,
            by: path(by)?,
            of: (of.0.to_owned(), of.1.to_owned()),
            item: item.as_ref().map(|item| Ok::<_, String>((path(&item.list)?, item.name.clone()))).transpose()?,
            version,
            optional,
        })
    }

    /// The name of these objects in messages: `pods of kube-system with tier=control-plane`.
    pub fn title(&self) -> String {
        let within = self.namespace.as_ref().map(|namespace| format!(" of {namespace}")).unwrap_or_default();
        let with = if self.labels.is_everything() { String::new() } else { format!(" with {}", self.labels) };
        format!("{}{within}{with}", self.resource)
    }

    /// A unique identifier of the source.
    pub fn id(&self) -> String {
        let item = self.item.as_ref().map(|(list, name)| format!(" in {list} {name}")).unwrap_or_default();
        format!("{}, by {}: {}{item}", self.title(), self.by, self.version.path())
    }

    /// Reads an other object: the object that it refers to, and the version or why it is unknown. `None` if it refers
    /// to no object of the kind.
    pub fn read<'v>(&self, other: &'v Value) -> Option<(NamedObject<'v>, Result<String, String>)> {
        Some((self.about(other)?, self.version(other)))
    }

    /// Resolves the reference like Kubernetes: without a namespace in the reference, the namespace of the referring
    /// object applies. Ignores references to another kind.
    fn about<'v>(&self, other: &'v Value) -> Option<NamedObject<'v>> {
        let name = text(field_value(other, &self.by))?;
        let reference = self.reference(other);
        let reference_text = |member: &str| text(reference?.get(member));
        let version_group = |version: &'v str| version.split_once('/').map_or("", |(group, _)| group);
        let group = reference_text("apiGroup")
            .or_else(|| reference_text("group"))
            .or_else(|| reference_text("apiVersion").map(version_group));
        let (own_group, own_kind) = &self.of;
        if reference_text("kind").is_some_and(|kind| kind != own_kind) || group.is_some_and(|group| group != own_group)
        {
            return None;
        }
        // If the list is limited to one namespace, the referenced objects may be in any namespace.
        let own = || text(other.pointer("/metadata/namespace")).filter(|_| self.namespace.is_none());
        Some(NamedObject { namespace: reference_text("namespace").or_else(own), name })
    }

    /// The object around the name field, if it is a reference and not the metadata of the other object.
    fn reference<'v>(&self, other: &'v Value) -> Option<&'v Value> {
        let (last, holder) = self.by.names().split_last()?;
        let is_of_itself = matches!(holder, [only] if only.as_ref() == "metadata");
        let is_one = last.as_ref() == "name" && !holder.is_empty() && !is_of_itself;
        field_value(other, &self.by.parent().filter(|_| is_one)?)
    }

    fn version(&self, other: &Value) -> Result<String, String> {
        let within = match &self.item {
            None => other,
            Some((list, name)) => {
                let items = field_value(other, list).and_then(Value::as_array).into_iter().flatten();
                let mut its = items.filter(|item| item.get("name").and_then(Value::as_str) == Some(name));
                its.next().ok_or_else(|| format!("{list} has no item {name}"))?
            }
        };
        self.version.read(within)?.ok_or_else(|| format!("{} is not set", self.version.path()))
    }

    /// The versions if no other object refers to an object. `elsewhere` is true if an object of that name in another
    /// namespace is referred to.
    pub fn if_unreferenced(&self, elsewhere: bool) -> Result<Vec<String>, String> {
        if self.optional {
            return Ok(Vec::new());
        }
        let more =
            if elsewhere { ", except in other namespaces: to read these, add `namespace` to `from`" } else { "" };
        Err(format!("none of {} has a version in {}{more}", self.title(), self.by))
    }
}

/// A referenced object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NamedObject<'v> {
    /// `None` if the namespace does not matter.
    pub namespace: Option<&'v str>,
    /// The name of the object.
    pub name: &'v str,
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn field_value<'v>(value: &'v Value, field: &Path) -> Option<&'v Value> {
    field.names().iter().try_fold(value, |value, name| value.get(name.as_ref()))
}
