//! The prerequisites of a version, and the objects that contain their state. A rollout to the version requires them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::apimachinery::{ResourceName, is_dns_label, is_dns_subdomain};
use crate::definition::path::Path;

/// The prerequisites of a version, by id.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Needs")]
pub struct Needs {
    /// Must be applied before a rollout to this version starts.
    #[serde(default)]
    pub applied: Vec<String>,
    /// Must be available by then, and not yet applied.
    #[serde(default)]
    pub available: Vec<String>,
}

/// The source of the state of prerequisites: one object for each.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Prerequisites")]
pub(super) struct PrerequisitesSpec {
    /// Plural and group of these objects, such as `patches.example.com`.
    resource: String,
    /// The namespace of namespaced objects.
    namespace: Option<String>,
    /// Their name, with the placeholder `{id}`: the id in lower case, with dashes for underscores.
    name: String,
    /// The field that contains `applied` or `available`, in any case.
    state: String,
}

/// The compiled source.
#[derive(Clone, Debug)]
pub struct Prerequisites {
    /// The resource of the objects.
    pub resource: ResourceName,
    /// Their namespace. `None` for all namespaces.
    pub namespace: Option<String>,
    name: String,
    state: Path,
}

impl Needs {
    /// All ids with their required states.
    pub fn all(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let applied = self.applied.iter().map(|id| (id.as_str(), APPLIED));
        applied.chain(self.available.iter().map(|id| (id.as_str(), AVAILABLE)))
    }

    /// Returns the problems of the prerequisites of all versions.
    pub(super) fn problems<'n>(
        all: impl Iterator<Item = (&'n str, &'n Self)>,
        source: Option<&Prerequisites>,
    ) -> Vec<String> {
        let (mut bad, mut names) = (Vec::new(), BTreeMap::<String, &str>::new());
        for (version, needs) in all {
            if let Some(both) = needs.applied.iter().find(|id| needs.available.contains(id)) {
                bad.push(format!("{version} needs {both} to be applied, and to be available and not applied"));
            }
            for (id, _) in needs.all() {
                let Some(source) = source else {
                    bad.push(format!(
                        "{version} needs {id}, and no lookup is defined: add `prerequisites` to the admission block"
                    ));
                    continue;
                };
                let name = source.name_of(id);
                if !is_dns_subdomain(&name) {
                    bad.push(format!("{version} needs {id:?}, and no object can be called {name:?}"));
                }
                if let Some(other) = names.insert(name.clone(), id).filter(|other| *other != id) {
                    bad.push(format!("{other} and {id} are different, but both use the lookup name {name}"));
                }
            }
        }
        bad
    }
}

impl PrerequisitesSpec {
    pub(super) fn compile(&self) -> Result<Prerequisites, String> {
        let Self { resource, namespace, name, state } = self;
        let resource = ResourceName::parse(resource)?;
        if let Some(namespace) = namespace.as_ref().filter(|name| !is_dns_label(name)) {
            return Err(format!("{namespace:?} is no name of a namespace"));
        }
        if name.matches(PLACE).count() != 1 {
            return Err(format!("name: {name:?} must contain {PLACE} once"));
        }
        let state = Path::parse(state)?;
        Ok(Prerequisites { resource, namespace: namespace.clone(), name: name.clone(), state })
    }
}

impl Prerequisites {
    /// The name of the object of an id.
    pub fn name_of(&self, id: &str) -> String {
        self.name.replace(PLACE, &id.to_lowercase().replace('_', "-"))
    }

    /// The state in such an object.
    pub fn state_of(&self, object: &Value) -> Option<String> {
        let found = self.state.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
        found.and_then(Value::as_str).map(str::to_owned)
    }
}

/// The placeholder for the id.
const PLACE: &str = "{id}";
/// The state of a prerequisite in `applied`.
pub const APPLIED: &str = "applied";
/// The state of a prerequisite in `available`.
pub const AVAILABLE: &str = "available";
