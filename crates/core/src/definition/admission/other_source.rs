//! Versions of an object that other objects say, such as the Pods of a host, and its Node.

use serde_json::Value;

use super::observe::VersionSource;
use super::others_spec::OthersSpec;
use crate::apimachinery::{ResourceName, Selector, is_dns_label};
use crate::definition::path::Path;

/// Other objects that say a version, checked.
#[derive(Clone, Debug)]
pub(crate) struct OtherSource {
    pub(crate) resource: ResourceName,
    pub(crate) namespace: Option<String>,
    pub(crate) labels: Selector,
    by: Path,
    /// Whom they are about: group and kind.
    of: (String, String),
    item: Option<(Path, String)>,
    /// Where each says the version, within the item.
    version: VersionSource,
    /// What of an object none of them names does not run there.
    optional: bool,
}

impl OtherSource {
    /// Checks it. `version` is where each of them says the version, `of` whom they are about, by group and kind.
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

    /// What messages call these objects: `pods of kube-system with tier=control-plane`.
    pub(crate) fn title(&self) -> String {
        let within = self.namespace.as_ref().map(|namespace| format!(" of {namespace}")).unwrap_or_default();
        let with = if self.labels.is_everything() { String::new() } else { format!(" with {}", self.labels) };
        format!("{}{within}{with}", self.resource)
    }

    /// What no other source is called by.
    pub(crate) fn id(&self) -> String {
        let item = self.item.as_ref().map(|(list, name)| format!(" in {list} {name}")).unwrap_or_default();
        format!("{}, by {}: {}{item}", self.title(), self.by, self.version.path())
    }

    /// The object that one of them is about, and which version it says; else why nobody knows. Nothing where it names
    /// none of the kind.
    pub(crate) fn read<'v>(&self, other: &'v Value) -> Option<(NamedObject<'v>, Result<String, String>)> {
        Some((self.about(other)?, self.version(other)))
    }

    /// As Kubernetes reads a name: in the namespace of who says it, where a reference says no other one. A reference to
    /// another kind names none of this one.
    fn about<'v>(&self, other: &'v Value) -> Option<NamedObject<'v>> {
        let name = text(look(other, &self.by))?;
        let reference = self.reference(other);
        let says = |member: &str| text(reference?.get(member));
        let version_group = |version: &'v str| version.split_once('/').map_or("", |(group, _)| group);
        let group = says("apiGroup").or_else(|| says("group")).or_else(|| says("apiVersion").map(version_group));
        let (own_group, own_kind) = &self.of;
        if says("kind").is_some_and(|kind| kind != own_kind) || group.is_some_and(|group| group != own_group) {
            return None;
        }
        // Who lists those of one namespace means objects wherever they are.
        let own = || text(other.pointer("/metadata/namespace")).filter(|_| self.namespace.is_none());
        Some(NamedObject { namespace: says("namespace").or_else(own), name })
    }

    /// What stands beside the name, where that is one of a reference, and not of the other object itself.
    fn reference<'v>(&self, other: &'v Value) -> Option<&'v Value> {
        let (last, holder) = self.by.names().split_last()?;
        let is_of_itself = matches!(holder, [only] if only.as_ref() == "metadata");
        let is_one = last.as_ref() == "name" && !holder.is_empty() && !is_of_itself;
        look(other, &self.by.parent().filter(|_| is_one)?)
    }

    fn version(&self, other: &Value) -> Result<String, String> {
        let within = match &self.item {
            None => other,
            Some((list, name)) => {
                let items = look(other, list).and_then(Value::as_array).into_iter().flatten();
                let mut its = items.filter(|item| item.get("name").and_then(Value::as_str) == Some(name));
                its.next().ok_or_else(|| format!("{list} has no item {name}"))?
            }
        };
        self.version.read(within)?.ok_or_else(|| format!("{} is not set", self.version.path()))
    }

    /// What runs where none of them names an object. `elsewhere`: some name one of another namespace that is called so.
    pub(crate) fn of_nobody(&self, elsewhere: bool) -> Result<Vec<String>, String> {
        if self.optional {
            return Ok(Vec::new());
        }
        let more =
            if elsewhere { ", but in other namespaces: where those are meant, `from` has a `namespace`" } else { "" };
        Err(format!("none of {} says it by {}{more}", self.title(), self.by))
    }
}

/// The object that another one is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct NamedObject<'v> {
    /// Nothing where that does not tell objects apart.
    pub(crate) namespace: Option<&'v str>,
    pub(crate) name: &'v str,
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn look<'v>(value: &'v Value, field: &Path) -> Option<&'v Value> {
    field.names().iter().try_fold(value, |value, name| value.get(name.as_ref()))
}
