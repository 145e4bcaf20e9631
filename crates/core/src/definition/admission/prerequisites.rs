//! What a version needs before a fleet may go to it, and where that is looked up.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::apimachinery::{ResourceName, is_dns_label, is_dns_subdomain};
use crate::definition::path::Path;

/// What a version needs, by id.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Needs")]
pub(crate) struct Needs {
    /// What must be applied before a rollout to this version begins.
    #[serde(default)]
    pub(crate) applied: Vec<String>,
    /// What must be available then, and not applied yet.
    #[serde(default)]
    pub(crate) available: Vec<String>,
}

/// Where it is looked up how things stand that a version needs: an object for each.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Prerequisites")]
pub(super) struct PrerequisitesSpec {
    /// Plural and group of these objects, such as `patches.example.com`.
    resource: String,
    /// Their namespace, if they have one.
    namespace: Option<String>,
    /// Their name, with `{id}` in it: the id in lower case, and with dashes for underscores.
    name: String,
    /// The field that says `applied` or `available`, in whichever case.
    state: String,
}

/// The same, checked.
#[derive(Clone, Debug)]
pub(crate) struct Prerequisites {
    pub(crate) resource: ResourceName,
    pub(crate) namespace: Option<String>,
    name: String,
    state: Path,
}

impl Needs {
    /// All ids, each with the state that it must have.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let applied = self.applied.iter().map(|id| (id.as_str(), APPLIED));
        applied.chain(self.available.iter().map(|id| (id.as_str(), AVAILABLE)))
    }

    /// What is wrong with what some versions need, each of which is named.
    pub(super) fn problems<'n>(
        all: impl Iterator<Item = (&'n str, &'n Self)>,
        looked_up: Option<&Prerequisites>,
    ) -> Vec<String> {
        let (mut bad, mut names) = (Vec::new(), BTreeMap::<String, &str>::new());
        for (version, needs) in all {
            if let Some(both) = needs.applied.iter().find(|id| needs.available.contains(id)) {
                bad.push(format!("{version} needs {both} to be applied, and to be available and not applied"));
            }
            for (id, _) in needs.all() {
                let Some(looked_up) = looked_up else {
                    bad.push(format!(
                        "{version} needs {id}, and nothing says where that is looked up: give the admission block \
                         `prerequisites`"
                    ));
                    continue;
                };
                let name = looked_up.name_of(id);
                if !is_dns_subdomain(&name) {
                    bad.push(format!("{version} needs {id:?}, and no object can be called {name:?}"));
                }
                if let Some(other) = names.insert(name.clone(), id).filter(|other| *other != id) {
                    bad.push(format!("{other} and {id} are different, and both would be looked up as {name}"));
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
            return Err(format!("name: {name:?} must have {PLACE} in it once"));
        }
        let state = Path::parse(state)?;
        Ok(Prerequisites { resource, namespace: namespace.clone(), name: name.clone(), state })
    }
}

impl Prerequisites {
    /// The name of the object that an id stands for.
    pub(crate) fn name_of(&self, id: &str) -> String {
        self.name.replace(PLACE, &id.to_lowercase().replace('_', "-"))
    }

    /// What such an object says of its state.
    pub(crate) fn state_of(&self, object: &Value) -> Option<String> {
        let found = self.state.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
        found.and_then(Value::as_str).map(str::to_owned)
    }
}

/// Where the id stands in the name.
const PLACE: &str = "{id}";
/// How it has to stand with what must be there.
pub(crate) const APPLIED: &str = "applied";
/// How it has to stand with what is to come.
pub(crate) const AVAILABLE: &str = "available";
