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
    item: Option<(Path, String)>,
    /// Where each says the version, within the item.
    version: VersionSource,
    /// What of an object none of them names does not run there.
    optional: bool,
}

impl OtherSource {
    /// Checks it. `version` is where each of them says the version.
    pub(super) fn compile(spec: &OthersSpec, version: VersionSource, optional: bool) -> Result<Self, String> {
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

    /// The name of the object that one of them is about, and which version it says; else why nobody knows. Nothing
    /// where it names none.
    pub(crate) fn read<'v>(&self, other: &'v Value) -> Option<(&'v str, Result<String, String>)> {
        let about = look(other, &self.by)?.as_str().filter(|name| !name.is_empty())?;
        Some((about, self.version(other)))
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

    /// What runs where none of them names an object.
    pub(crate) fn of_nobody(&self) -> Result<Vec<String>, String> {
        if self.optional { Ok(Vec::new()) } else { Err(format!("none of {} says it by {}", self.title(), self.by)) }
    }
}

fn look<'v>(value: &'v Value, field: &Path) -> Option<&'v Value> {
    field.names().iter().try_fold(value, |value, name| value.get(name.as_ref()))
}
