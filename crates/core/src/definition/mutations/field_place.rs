//! The place of a field that an operation names.

use crate::definition::path::Path;
use crate::json::{Json, Members};

/// The start of a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum FieldRoot {
    /// The object.
    Object,
    /// The spec of its Pods.
    Pod,
    /// A container of its Pods.
    Container(ContainerName),
}

/// The container of a Pod.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ContainerName {
    /// The container or init container of this name.
    Named(String),
    /// The container with the name of the object, or else the only container.
    AsTheObject,
}

/// A field, relative to the start of its path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FieldPlace {
    pub(crate) root: FieldRoot,
    pub(crate) path: Path,
}

impl FieldPlace {
    /// Returns whether one place contains the other.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.root.may_be(&other.root) && (self.path.starts_with(&other.path) || other.path.starts_with(&self.path))
    }

    /// The place in normal form, where the Pod spec is at `pod`: fields of the Pod spec are relative to the object.
    pub(crate) fn of_object(&self, pod: &Path) -> Self {
        match &self.root {
            FieldRoot::Pod => Self { root: FieldRoot::Object, path: self.path.moved(&Path::default(), pod) },
            FieldRoot::Object | FieldRoot::Container(_) => self.clone(),
        }
    }

    /// Returns whether the place is in the metadata of the object, such as a label or an annotation.
    pub(super) fn is_of_metadata(&self) -> bool {
        self.root == FieldRoot::Object && self.path.names().first().is_some_and(|first| **first == *"metadata")
    }

    /// The name in messages.
    pub(crate) fn describe(&self) -> String {
        match &self.root {
            FieldRoot::Object | FieldRoot::Pod => self.path.to_string(),
            FieldRoot::Container(name) => format!("{}{}", self.path, name.describe()),
        }
    }
}

impl FieldRoot {
    pub(super) fn container(&self) -> Option<&ContainerName> {
        match self {
            Self::Container(name) => Some(name),
            Self::Object | Self::Pod => None,
        }
    }

    fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Container(one), Self::Container(two)) => one.may_be(two),
            (one, two) => one == two,
        }
    }
}

impl ContainerName {
    pub(super) fn new(of: Option<&str>) -> Self {
        of.map_or(Self::AsTheObject, |name| Self::Named(name.to_owned()))
    }

    /// The lists of an object that may contain the container.
    pub(super) fn lists(&self, pod: &Path) -> impl Iterator<Item = Path> {
        let is_any = matches!(self, Self::Named(_));
        LISTS.iter().filter(move |list| is_any || **list == CONTAINERS).map(|list| pod.join(list))
    }

    /// Returns whether both can be the same container.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(two)) => one == two,
            _ => true,
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Named(name) => format!(" of {name}"),
            Self::AsTheObject => String::new(),
        }
    }
}

/// Edits the value at a root, if the object has it.
pub(super) fn at_root<'j>(object: &mut Json<'j>, pod: &Path, root: &FieldRoot, edit: impl FnOnce(&mut Json<'j>)) {
    if let Some(found) = place_of(object, pod, root) {
        edit(found);
    }
}

fn place_of<'o, 'j>(object: &'o mut Json<'j>, pod: &Path, root: &FieldRoot) -> Option<&'o mut Json<'j>> {
    let name = object.get_path(&["metadata", "name"]).and_then(|name| name.as_str().map(|name| name.into_owned()));
    match root {
        FieldRoot::Object => Some(object),
        FieldRoot::Pod => inside(object, pod.names()),
        FieldRoot::Container(container) => container_of(inside(object, pod.names())?, container, name.as_deref()),
    }
}

/// The value at a path. Parses the objects along the path.
pub(super) fn inside<'o, 'j>(object: &'o mut Json<'j>, way: &[Box<str>]) -> Option<&'o mut Json<'j>> {
    way.iter().try_fold(object, |here, name| here.open().ok()??.get_mut(name))
}

/// The object at a path, created if it is absent or null. `None` if the path contains another value, which is never
/// replaced.
pub(super) fn made<'o, 'j>(object: &'o mut Json<'j>, way: &[Box<str>]) -> Option<&'o mut Members<'j>> {
    // Checks the whole path before anything is created.
    if !can_be_made(object, way) {
        return None;
    }
    let mut here = object;
    for name in way {
        let members = here.open().ok()??;
        if members.get(name).is_none_or(Json::is_null) {
            members.set(name, Json::Object(Members::default()));
        }
        here = members.get_mut(name)?;
    }
    here.open().ok()?
}

fn can_be_made(object: &Json<'_>, way: &[Box<str>]) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    for name in way {
        seen.push(name);
        match object.get_path(&seen) {
            None => break,
            Some(found) if found.is_null() => break,
            Some(found) if !found.is_object() => return false,
            Some(_) => {}
        }
    }
    object.is_object()
}

fn container_of<'o, 'j>(
    pod: &'o mut Json<'j>,
    wanted: &ContainerName,
    object: Option<&str>,
) -> Option<&'o mut Json<'j>> {
    let pod = pod.open().ok()??;
    let (list, at) = LISTS.iter().find_map(|list| {
        let all = pod.get(list)?.elements();
        let called = |name: &str| {
            all.iter().position(|container| {
                container.get("name").is_some_and(|found| found.as_str().is_some_and(|found| found == name))
            })
        };
        let at = match wanted {
            ContainerName::Named(name) => called(name),
            ContainerName::AsTheObject if *list == CONTAINERS => {
                object.and_then(called).or_else(|| (all.len() == 1).then_some(0))
            }
            ContainerName::AsTheObject => None,
        };
        Some((*list, at?))
    })?;
    pod.get_mut(list)?.open_array()?.get_mut(at)
}

const CONTAINERS: &str = "containers";
/// The container lists of a Pod, in search order.
pub(crate) const LISTS: [&str; 2] = [CONTAINERS, "initContainers"];
